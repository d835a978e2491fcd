/**
 * Worlds for ledger tests: a real ledger on an embedded database of its own, or the model, behind one set of
 * helpers. A world lives in a temporary folder and is closed by the test file that opened it.
 */
import { emptyFacts, emptyTotals, type HotState } from '../../../engine/entity/state.ts';
import type { EntityRef } from '../../../engine/ids.ts';
import type { DirtyEntity, Ledger, OutboxVote } from '../../../engine/ports.ts';
import { deleteListing, resetVotes } from '../../../storage/ledger/adjust.ts';
import { createLedger } from '../../../storage/ledger/ledger.ts';
import { voidVote } from '../../../storage/ledger/void-votes.ts';
import type { Sql } from '../../../storage/sql/client.ts';
import { createLedgerModel } from '../../model/ledger-model.ts';
import { refOf } from '../../support/refs.ts';
import { openDirectory } from '../catalogue/directory.ts';

export interface World {
  readonly ledger: Ledger;
  /** Lists a new pack. */
  list(id: string): Promise<EntityRef>;
  remove(ref: EntityRef): Promise<void>;
  voidVote(itag: string, reason: 'operator' | 'redeemed'): Promise<boolean>;
  reset(scope: 'all' | EntityRef, atMs: number): Promise<void>;
  /** Itags of all votes, each with its reason for being void, `''` for none. */
  votes(): Promise<Record<string, string>>;
  close(): Promise<void>;
}
export interface RealWorld extends World {
  readonly sql: Sql;
}

const listPack = (sql: Sql, id: string): Promise<EntityRef> =>
  sql.begin(async (transaction) => {
    await transaction`
      insert into users (id, username, display_name) values ('owner', 'owner', 'Owner')
      on conflict do nothing`;
    const [row] = await transaction<{ incarnation: number }[]>`select nextval('incarnations') as incarnation`;
    const ref = refOf('pack', id, row?.incarnation ?? 0);
    await transaction`
      insert into totals (incarnation, kind, entity_id, shard)
      values (${ref.incarnation}, 'pack', ${id}, ${ref.shard})`;
    await transaction`
      insert into packs (url, incarnation, owner_id, name, short)
      values (${id}, ${ref.incarnation}, 'owner', 'Pack', '')`;
    return ref;
  });

export const openRealWorld = async (): Promise<RealWorld> => {
  const { sql, close } = await openDirectory();
  return worldOn(sql, close);
};

/** A world on a migrated database that the caller opened. */
export const worldOn = (sql: Sql, close: () => Promise<void>): RealWorld => {
  return {
    sql,
    close,
    ledger: createLedger(sql),
    list: (id) => listPack(sql, id),
    remove: async (ref) => {
      await sql.begin((transaction) => deleteListing(transaction, ref));
    },
    voidVote: async (itag, reason) => (await voidVote(sql, itag, reason)).kind === 'voided',
    reset: async (scope, atMs) => {
      const which = scope === 'all' ? scope : scope.incarnation;
      await resetVotes(sql, { scope: which, atMs, reason: 'operator' });
    },
    votes: async () => {
      const rows = await sql<
        { itag: string; void_reason: string }[]
      >`select itag, void_reason from vote_rows`;
      return Object.fromEntries(rows.map((row) => [row.itag, row.void_reason]));
    },
  };
};

/** Invalid in the model and in SQL: NUL in the voter's name, clicks beyond 2^63. */
const isPoisoned = ({ entity, vote }: { entity?: DirtyEntity; vote?: OutboxVote }): boolean =>
  Boolean(vote?.user.includes('\0')) || (entity?.state.clicks ?? 0) > 2 ** 63;

export const openModelWorld = async (): Promise<World> => {
  const model = createLedgerModel({ poisoned: isPoisoned });
  return {
    ledger: model.port,
    list: async (id) => model.list('pack', id),
    remove: async (ref) => model.remove(ref),
    voidVote: async (itag, reason) => model.voidVote(itag, reason),
    reset: async (scope, atMs) =>
      model.reset({ scope: scope === 'all' ? scope : scope.incarnation, atMs, reason: 'operator' }),
    votes: async () =>
      Object.fromEntries([...model.votes.values()].map((vote) => [vote.itag, vote.voidReason])),
    close: async () => {},
  };
};

export const dirty = (ref: EntityRef, generation: number, state: Partial<HotState>): DirtyEntity => ({
  ref,
  generation,
  state: { ...emptyTotals, facts: emptyFacts, flushedVotes: 0, version: 1, ...state },
});

/** A UUID that ends in this number. */
export const itagOf = (number: number): string =>
  `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

export const vote = (ref: EntityRef, number: number, more: Partial<OutboxVote> = {}): OutboxVote => ({
  itag: itagOf(number),
  ref,
  user: `user${number}`,
  upvote: true,
  atMs: Date.UTC(2026, 10, 20, 12),
  voteNumber: 0,
  ...more,
});
