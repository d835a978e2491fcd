/**
 * Shows operators what looks wrong about votes (docs/operators/votes.md): each finding with its
 * reason in words, and the query of a plan that would void its votes.
 */
import { type Static, Type } from 'typebox';
import { foldTargetId } from '../../engine/ids.ts';
import { voteFlags } from '../../engine/rules/vote-origin.ts';
import type { Suspect } from '../../storage/catalogue/operator/suspects.ts';
import { Text, Timestamp, toNullable } from '../api/shared/common.ts';
import type { App } from '../app.ts';
import { type Reply, replyOk, showRow } from '../response/reply.ts';
import { buildList, VotesQuery } from './list-schema.ts';

const { target_type, target_id, page } = VotesQuery.properties;
export const SuspectsQuery = Type.Object({ target_type, target_id, page });
export type SuspectsQuery = Static<typeof SuspectsQuery>;
export const HoursQuery = Type.Object({ target_type, target_id });
export type HoursQuery = Static<typeof HoursQuery>;

export const SuspectList = buildList('suspects', {
  last_at: Timestamp,
  first_at: Timestamp,
  found: Text,
  why: Text,
  target_type: toNullable(Text),
  target_id: toNullable(Text),
  address_hash: toNullable(Text),
  flag: Type.Integer(),
});

export const VoteHours = Type.Object({
  hours: Type.Array(
    Type.Object({
      hour: Timestamp,
      votes: Type.Integer(),
      young: toNullable(Type.Integer()),
      surge_above: toNullable(Type.Integer()),
    }),
  ),
});

/** Two weeks. */
const hoursShown = 336;

const names: Readonly<Record<number, string>> = {
  [voteFlags.listing]: 'one address, one listing',
  [voteFlags.directory]: 'one address, many accounts',
  [voteFlags.young]: 'new accounts',
  [voteFlags.rhythm]: 'rhythm of a machine',
  [voteFlags.surge]: 'surge',
  [voteFlags.views]: 'page views',
};

const describe = ({ flag, figures: of }: Suspect): string => {
  const accounts = 'accounts that voted from this address within a day';
  switch (flag) {
    case voteFlags.listing: {
      const expected = `by its share of all votes ${of.expected} were to be expected`;
      return `${of.accounts} of the ${of.all_accounts} ${accounts} voted on it; ${expected}.`;
    }
    case voteFlags.directory: {
      const spread = `they voted ${of.votes} times on ${of.listings} listings`;
      return `${of.flagged} of the ${of.accounts} ${accounts} have votes with other flags; ${spread}.`;
    }
    case voteFlags.young: {
      const expected = `${of.young_expected} were to be expected`;
      return `${of.young} of its ${of.accounts} accounts were known for less than an hour; ${expected}.`;
    }
    case voteFlags.rhythm:
      return `${of.votes} votes, one every ${of.seconds} s, give or take ${of.deviation} s.`;
    case voteFlags.surge:
      return `${of.votes} votes within an hour; in the 14 days before ${of.mean} an hour.`;
    default: {
      const marked = (of.repeated ?? 0) + (of.robots ?? 0);
      const parts = `${of.repeated} of one address beyond its third, ${of.robots} of programs`;
      return `Of ${of.views} page views in an hour a filter would take off ${marked}: ${parts}. They count.`;
    }
  }
};

export const readSuspects = async (app: App, query: SuspectsQuery, page: number) => {
  const { target_type: kind, target_id: id } = query;
  const filter = { kind, id: kind && id && foldTargetId(kind, id) };
  const { rows, ...list } = await app.catalogue.operator.suspects.listSuspects(filter, page);
  const shown = rows.map((row) => ({ ...row, found: names[row.flag] ?? '', why: describe(row) }));
  return { ...list, rows: shown };
};

/** `GET /votes/hours`. */
export const showVoteHours = async (app: App, query: HoursQuery): Promise<Reply> => {
  const { suspects } = app.catalogue.operator;
  const { target_type: kind, target_id: id } = query;
  const span = { hours: hoursShown, atMs: app.clock.nowMs() };
  const hours =
    kind === undefined || id === undefined
      ? await suspects.listVoteHours(hoursShown)
      : await suspects.listListingHours({ kind, id: foldTargetId(kind, id) }, span);
  return replyOk({ hours: hours.map((row) => showRow(VoteHours.properties.hours.items, row)) });
};
