/**
 * The live stream of the private listener: what the node does, once a second, as server-sent events. `ops
 * top` and the operator's page read it.
 */
import { Type } from 'typebox';
import { DomainError } from '../../engine/errors.ts';
import { type AnyRoute, defineRoute } from '../route.ts';
import { type Live, streamsMax } from '../telemetry/live.ts';

export const buildLiveRoute = (live: Pick<Live, 'hasRoom' | 'stream'>): AnyRoute =>
  defineRoute('live', 'GET /live', {
    section: 'Operator',
    summary: 'Streams what the node does: a frame a second.',
    auth: { kind: 'public' },
    replies: { 200: Type.String() },
    handle: () => {
      if (!live.hasRoom()) {
        throw new DomainError(
          'overloaded',
          `${streamsMax} live streams of this node are open already: close a page.`,
          { outcome: 'not_applied' },
          5,
        );
      }
      return { status: 200, stream: live.stream(), headers: { 'Content-Type': 'text/event-stream' } };
    },
  });
