/**
 * Watches for slots of a Cluster that stay half-moved: an operator's resharding that was broken off.
 *
 * Until such a move ends, Redis refuses calls for the shard in the slot. Asks every primary which slots it
 * gives away or takes in: either side may have forgotten the move, the old owner by a failover. Never ends a
 * move. A server that does not answer keeps its last moves. Does nothing on one server, and where Redis
 * forbids `CLUSTER NODES`.
 */
import { type Note, toNote } from '../../../engine/tools/notes.ts';
import { readUnlessRefused } from './errors.ts';
import type { Link, Primary } from './link.ts';

/** The move of one slot usually takes less than this; a very large slot may take longer. */
const usualMsMax = 5_000;
const checkEveryMs = 5_000;

interface Move {
  readonly slot: string;
  readonly from: string;
  readonly to: string;
}

/** Lists the moves of the server that gave this answer to `CLUSTER NODES`. */
const listMoves = (nodes: string): readonly Move[] => {
  const lines = nodes.split('\n').map((line) => line.split(' '));
  const findName = (wanted: string): string => {
    const [, address = wanted] = lines.find(([id]) => id === wanted) ?? [];
    return address.split('@', 1)[0] as string;
  };
  const [own = '', , , , , , , , ...slots] = lines.find(([, , flags]) => flags?.includes('myself')) ?? [];
  return slots.flatMap((text) => {
    const [, slot, direction, other] = /^\[(\d+)-([<>])-(\w+)\]$/.exec(text) ?? [];
    if (slot === undefined || other === undefined) return [];
    const [from, to] = direction === '>' ? [own, other] : [other, own];
    return [{ slot, from: findName(from), to: findName(to) }];
  });
};

const toName = ({ slot, from, to }: Move): string => `slot ${slot} has been moving from ${from} to ${to}`;

export const createSlotMoves = (link: Link) => {
  const movesByServer = new Map<string, readonly Move[]>();
  let open: ReadonlyMap<string, { readonly move: Move; readonly sinceMs: number }> = new Map();
  let checkedMs = Number.NEGATIVE_INFINITY;
  /** Lists a note for each slot that has been moving for longer than a move takes. */
  const listNotes = (): readonly Note[] =>
    [...open].flatMap(([name, { move, sinceMs }]) => {
      const movingMs = performance.now() - sinceMs;
      if (movingMs < usualMsMax) return [];
      const remedy = `let its move end, or repair it: redis-cli --cluster fix ${move.from}`;
      const seconds = Math.floor(movingMs / 1_000);
      return toNote(
        'redis_slot_moving',
        `${name} for ${seconds} s: the listings in it are not served; ${remedy}`,
      );
    });
  const checkPrimary = async ({ name, redis }: Primary): Promise<void> => {
    if (redis === null) return;
    const nodes = await readUnlessRefused(redis.cluster('NODES'), '').catch(() => null);
    if (nodes !== null) movesByServer.set(name, listMoves(String(nodes)));
  };
  /** Asks every primary, at most once in `checkEveryMs`. Never rejects. */
  const check = async (): Promise<void> => {
    const nowMs = performance.now();
    if (link.isOneServer || nowMs - checkedMs < checkEveryMs) return;
    checkedMs = nowMs;
    const owners = link.listSlotOwners();
    await Promise.all(owners.map(checkPrimary));
    const moves = owners.flatMap(({ name }) => movesByServer.get(name) ?? []);
    open = new Map(
      moves.map((move) => [toName(move), { move, sinceMs: open.get(toName(move))?.sinceMs ?? nowMs }]),
    );
  };
  return { check, listNotes };
};
