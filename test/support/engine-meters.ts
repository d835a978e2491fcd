/**
 * Meters of an engine that record nothing, for tests that run an engine on real stores and judge only what
 * the stores hold and what callers get.
 */
import type { EngineMeters } from '../../engine/ports.ts';

export const silentMeters = new Proxy({}, { get: () => () => {} }) as EngineMeters;
