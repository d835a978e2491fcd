/**
 * Rows of the private listener that need no token: is the process alive, does it want traffic, its metrics.
 *
 * `/readyz` is what a load balancer asks: it turns 503 as soon as the public side drains, before it stops
 * listening. Gathered by admin.ts.
 */
import { Type } from 'typebox';
import { type AnyRoute, defineRoute, type Reply } from '../../route.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

const Health = Type.Object(
  { status: Type.String(), notes: Type.Array(Type.String()) },
  { examples: [{ status: 'ready', notes: [] }] },
);
const base = {
  method: 'GET',
  section: 'Health',
  auth: { kind: 'public' },
  caching: 'no-store',
  params: Type.Object({}),
  errors: [],
} as const;

const replyHealth = (status: number, word: string, notes: readonly string[]): Reply => ({
  status,
  json: { status: word, notes },
});

export const buildHealthRoutes = (parts: {
  readonly metrics: Pick<Metrics, 'render' | 'contentType'>;
  readonly draining: () => boolean;
  /** What else the operator should know now. */
  readonly troubles: () => readonly string[];
}): readonly AnyRoute[] => [
  defineRoute({
    ...base,
    name: 'livez',
    path: '/livez',
    summary: 'Whether the process runs.',
    replies: { 200: Health },
    handle: () => replyHealth(200, 'alive', []),
  }),
  defineRoute({
    ...base,
    name: 'readyz',
    path: '/readyz',
    summary: 'Whether the node wants traffic.',
    replies: { 200: Health, 503: Health },
    handle: (app) => {
      if (parts.draining()) return replyHealth(503, 'draining', []);
      const { ready, notes: own } = app.engine.readHealth();
      const notes = [...own, ...parts.troubles()];
      return ready ? replyHealth(200, 'ready', notes) : replyHealth(503, 'not ready', notes);
    },
  }),
  defineRoute({
    ...base,
    name: 'metrics',
    path: '/metrics',
    summary: 'Metrics in the Prometheus text format.',
    replies: { 200: Type.String() },
    handle: async () => ({
      status: 200,
      text: await parts.metrics.render(),
      headers: { 'Content-Type': parts.metrics.contentType },
    }),
  }),
];
