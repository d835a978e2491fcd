/**
 * One bot in a store of maps, with a clock: what the tests of parts post to and judge.
 */
import { applyItem, type Slot } from '../../../engine/entity/apply.ts';
import type { Decision, Item, PostedPart } from '../../../engine/entity/items.ts';
import { emptyFacts, emptyTotals, type HotState, type Part } from '../../../engine/entity/state.ts';
import { toIncarnation } from '../../../engine/ids.ts';
import { refOf } from '../../support/refs.ts';

export const startMs = Date.parse('2026-11-18T12:00:00Z');
export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const parts = { staleMs: 15 * minuteMs, goneMs: 24 * hourMs, switchMs: 10 * minuteMs };
const wait = { waitMs: hourMs, perUser: 1 };
const rules = {
  windows: { standard: wait, premium: wait, weekend: wait },
  uptime: { checkMs: 5 * minuteMs, freshMs: 15 * minuteMs, downtimes: [] },
  parts,
  visitorsMax: 9,
};
export const target = refOf('bot', '123456789012345678', 1);

export interface Bot {
  nowMs: number;
  readonly tables: Map<number, Map<number, Part>>;
  /** What posts say, by table and id, from all posts since the table began. */
  readonly newest: Map<number, Map<number, { atMs: number; servers: number }>>;
  readonly state: HotState;
  send(item: Item): Decision;
  post(shardCount: number, posted: readonly PostedPart[], atMs?: number): Decision;
  judge(): Decision;
}

/** One bot in a store of maps, and its clock. */
export const createBot = (): Bot => {
  const tables: Bot['tables'] = new Map();
  const newest: Bot['newest'] = new Map();
  const facts = { ...emptyFacts, listed: true, listedSinceMs: startMs };
  const totals = { ...emptyTotals, servers: '500', users: '9', uptimeCheckedMs: startMs };
  const state: HotState = { ...totals, facts, flushedVotes: 0, version: 0 };
  let slot: Slot = { incarnation: toIncarnation(1), state };
  const bot: Bot = {
    nowMs: startMs,
    tables,
    newest,
    get state(): HotState {
      return slot.state as HotState;
    },
    send(item: Item) {
      const { version } = bot.state;
      const outcome = applyItem(item, slot, {
        nowMs: bot.nowMs,
        generation: 1,
        shardVersion: version,
        version: version + 1,
        rules,
        hasBatch: () => false,
        votes: () => [],
        visited: () => false,
        part: (shardCount, id) => tables.get(shardCount)?.get(id) ?? null,
        parts: (shardCount) => tables.get(shardCount) ?? new Map(),
      });
      for (const effect of outcome.effects) {
        if (effect.kind === 'drop_parts') {
          tables.delete(effect.shardCount);
          newest.delete(effect.shardCount);
        }
        if (effect.kind !== 'part') continue;
        const table = tables.get(effect.shardCount) ?? new Map<number, Part>();
        tables.set(effect.shardCount, table);
        if (effect.part === null) {
          table.delete(effect.id);
          newest.get(effect.shardCount)?.delete(effect.id);
        } else table.set(effect.id, effect.part);
      }
      slot = outcome.slot as Slot;
      return outcome.decision;
    },
    post(shardCount: number, posted: readonly PostedPart[], atMs = bot.nowMs) {
      return bot.send({ kind: 'parts', target, atMs, shardCount, parts: posted });
    },
    judge: () => bot.send({ kind: 'liveness', target }),
  };
  return bot;
};

export const showTotals = ({ state }: Bot) => [
  state.servers,
  state.users,
  state.shards,
  state.shardList,
  state.status,
];
