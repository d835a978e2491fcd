/**
 * Reads a node's own metrics from its operator's listener.
 */
import type { ServerProcess } from '../servers/process.ts';

/** The value of a metric without labels; 0 when it is missing. */
export const parseMetric = (text: string, name: string): number =>
  Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? 0);

export const readMetrics = async ({ adminUrl }: Pick<ServerProcess, 'adminUrl'>): Promise<string> =>
  (await fetch(`${adminUrl}/metrics`)).text();
