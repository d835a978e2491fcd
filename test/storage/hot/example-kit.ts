/**
 * Data and helpers for the conformance examples: one bot, its later listing, and items about them.
 */

import type { BatchReply, InitItem, Item, VoteItem } from '../../../engine/entity/items.ts';
import { emptyFacts, emptyTotals } from '../../../engine/entity/state.ts';
import type { EntityRef } from '../../../engine/ids.ts';
import { createEntityRef } from '../../../engine/ids.ts';
import type { HotStore } from '../../../engine/ports.ts';
import { startMs } from './generate.ts';

export const bot = createEntityRef('bot', '123456789012345678', 1);
export const later = createEntityRef('bot', '123456789012345678', 2);
export const facts = { ...emptyFacts, revision: 1, listed: true, listedSinceMs: startMs };

export interface World {
  readonly store: HotStore;
  nowMs: number;
  send(...items: Item[]): Promise<BatchReply>;
  sendAs(producer: string, sequence: number, ...items: Item[]): Promise<BatchReply>;
}

export const init = (target: EntityRef = bot): InitItem => ({
  kind: 'init',
  target,
  facts,
  totals: { ...emptyTotals, uptimeCheckedMs: startMs },
  row: { generation: 0, version: 0 },
});
export const click = (visitor: string, target = bot): Item => ({ kind: 'click', target, visitor });
export const vote = (world: World, itag: string, change: Partial<VoteItem> = {}): VoteItem => ({
  ...{
    kind: 'vote',
    target: bot,
    user: '42',
    upvote: true,
    atMs: world.nowMs,
    itags: [`${itag}-0`, `${itag}-1`],
  },
  ...change,
});
export const statesIn = (reply: BatchReply) => reply.states.map((state) => state?.read());
export const kinds = (reply: BatchReply) => reply.decisions?.map((decision) => decision.kind);

export type Example = (world: World) => Promise<void>;
