/**
 * Routes of the private listener that need no token: liveness, readiness and metrics.
 *
 * A load balancer polls `/readyz`: it answers 503 as soon as the public side drains, before that side stops
 * listening.
 */
import { Type } from 'typebox';
import type { Note } from '../../engine/tools/notes.ts';
import type { App } from '../app.ts';
import { type AnyRoute, defineDocument } from '../route.ts';
import type { Metrics } from '../telemetry/metrics.ts';

const Health = Type.Object(
  { status: Type.String(), notes: Type.Array(Type.String()) },
  { examples: [{ status: 'ready', notes: [] }] },
);

const Alive = Type.Object(
  { status: Type.String(), notes: Type.Array(Type.String()), version: Type.String(), commit: Type.String() },
  { examples: [{ status: 'alive', notes: [], version: '0.1.0', commit: '42335a2c0a1b' }] },
);

/** Whether the node accepts traffic, and what is weaker than it should be. */
export const judgeHealth = (
  app: Pick<App, 'engine' | 'listWarnings' | 'isDraining'>,
): { readonly status: 'ready' | 'not ready' | 'draining'; readonly notes: readonly Note[] } => {
  const { ready, notes } = app.engine.readHealth();
  const accepting = ready ? 'ready' : 'not ready';
  const status = app.isDraining() ? 'draining' : accepting;
  return { status, notes: [...notes, ...app.listWarnings()] };
};

export const buildHealthRoutes = (
  metrics: Pick<Metrics, 'render' | 'contentType' | 'version'>,
): readonly AnyRoute[] => [
  defineDocument('livez', 'GET /livez', {
    summary: 'Tells that the process runs, and its version.',
    caching: 'no-store',
    replies: { 200: Alive },
    handle: () => ({ status: 200, json: { status: 'alive', notes: [], ...metrics.version } }),
  }),
  defineDocument('readyz', 'GET /readyz', {
    summary: 'Tells whether the node accepts traffic.',
    caching: 'no-store',
    replies: { 200: Health, 503: Health },
    handle: (app) => {
      const json = judgeHealth(app);
      return { status: json.status === 'ready' ? 200 : 503, json };
    },
  }),
  defineDocument('metrics', 'GET /metrics', {
    summary: 'Returns the metrics in the Prometheus text format.',
    caching: 'no-store',
    handle: async () => ({
      status: 200,
      text: await metrics.render(),
      headers: { 'Content-Type': metrics.contentType },
    }),
  }),
];
