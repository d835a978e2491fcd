/**
 * Routes of the private listener that need no token: liveness, readiness and metrics.
 *
 * A load balancer polls `/readyz`: it answers 503 as soon as the public side drains, before that side stops
 * listening. Used by admin.ts.
 */
import { Type } from 'typebox';
import { type AnyRoute, defineRoute, type Reply } from '../../route.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

const Health = Type.Object(
  { status: Type.String(), notes: Type.Array(Type.String()) },
  { examples: [{ status: 'ready', notes: [] }] },
);
const Alive = Type.Object(
  { status: Type.String(), notes: Type.Array(Type.String()), version: Type.String(), commit: Type.String() },
  { examples: [{ status: 'alive', notes: [], version: '0.1.0', commit: '42335a2c0a1b' }] },
);
const base = {
  method: 'GET',
  section: 'Health',
  auth: { kind: 'public' },
} as const;

const replyHealth = (httpStatus: number, status: string, notes: readonly string[]): Reply => ({
  status: httpStatus,
  json: { status, notes },
});

export const buildHealthRoutes = (parts: {
  readonly metrics: Pick<Metrics, 'render' | 'contentType' | 'version'>;
  readonly isDraining: () => boolean;
  /** Current warnings for the operator; they do not make the node unready. */
  readonly listWarnings: () => readonly string[];
}): readonly AnyRoute[] => [
  defineRoute({
    ...base,
    name: 'livez',
    path: '/livez',
    summary: 'Tells that the process runs, and its version.',
    replies: { 200: Alive },
    handle: () => ({ status: 200, json: { status: 'alive', notes: [], ...parts.metrics.version } }),
  }),
  defineRoute({
    ...base,
    name: 'readyz',
    path: '/readyz',
    summary: 'Tells whether the node accepts traffic.',
    replies: { 200: Health, 503: Health },
    handle: (app) => {
      if (parts.isDraining()) return replyHealth(503, 'draining', []);
      const { ready, notes: engineNotes } = app.engine.readHealth();
      const notes = [...engineNotes, ...parts.listWarnings()];
      return ready ? replyHealth(200, 'ready', notes) : replyHealth(503, 'not ready', notes);
    },
  }),
  defineRoute({
    ...base,
    name: 'metrics',
    path: '/metrics',
    summary: 'Returns the metrics in the Prometheus text format.',
    replies: { 200: Type.String() },
    handle: async () => ({
      status: 200,
      text: await parts.metrics.render(),
      headers: { 'Content-Type': parts.metrics.contentType },
    }),
  }),
];
