/**
 * SQL restored to a state older than the hot store starts a new timeline: facts that the hot store received
 * on the lost timeline never override a later edit. Called by ledger.test.ts here and in ../postgres.
 */
import * as assert from 'uvu/assert';
import { emptyFacts } from '../../../engine/entity/state.ts';
import { beginTimeline } from '../../../storage/ledger/generations.ts';
import { createLedger } from '../../../storage/ledger/ledger.ts';
import { assertExcludes, assertIncludes } from '../../support/assert-includes.ts';
import { dirty, type RealWorld } from './world.ts';

type Claims = (title: string, claim: () => Promise<void>) => void;

export const claimLineages = (claims: Claims, open: () => RealWorld): void => {
  claims(
    'in a new lineage facts outrank those of lost edits, and are sent where those are flushed',
    async () => {
      const { sql, list } = open();
      const ref = await list('lineage');
      const facts = async (): Promise<number> =>
        (await createLedger(sql).find([{ kind: 'pack', id: 'lineage' }]))[0]?.facts.revision ?? 0;
      const listUnsent = async (): Promise<string[]> =>
        (await createLedger(sql).listEdits(1_000)).map(({ target }) => target.id);
      const before = await facts();
      await beginTimeline(sql);
      const ledger = createLedger(sql);
      const flush = (version: number, revision: number) =>
        ledger.flush({
          entities: [dirty(ref, 1, { version, facts: { ...emptyFacts, revision } })],
          votes: [],
        });

      assert.ok((await facts()) > before + 100_000, 'more edits than a listing ever has');
      assertExcludes(await listUnsent(), 'lineage');
      await flush(1, before + 7);
      assertIncludes(await listUnsent(), 'lineage', 'the hot store knows facts of before');
      await ledger.markEditsSent(await ledger.listEdits(1_000));
      await flush(2, await facts());
      assertExcludes(await listUnsent(), 'lineage', 'the edit was marked as sent');
      const first = await facts();
      await beginTimeline(sql);
      assert.ok((await facts()) > first, 'each is newer than the one before');
    },
  );
};
