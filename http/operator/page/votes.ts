/**
 * The screen *Votes*: past votes, filtered as the address says, each with whether and why it is void and a
 * button that voids it; below, plans, and the operations on votes. A new plan begins with the same filter.
 */
import type { PageOperation, PageSession } from './api.ts';
import { fill, make } from './dom.ts';
import { type Filter, makeFilterForm } from './filters.ts';
import { makeForms, makeRowButton } from './operations.ts';
import { makePlanList } from './plans.ts';
import type { Screen } from './screens.ts';
import { makeList } from './tables.ts';

const time = { placeholder: '2026-03-01T12:00:00Z' };
const filters: readonly Filter[] = [
  { name: 'target_type', label: 'Listing: its kind', choices: ['bot', 'server', 'team', 'pack'] },
  { name: 'target_id', label: 'Listing: its id' },
  { name: 'user', label: 'Id of the user' },
  { name: 'since', label: 'Since', ...time },
  { name: 'before', label: 'Before', ...time },
];

const makeVoteList = (session: PageSession, query: URLSearchParams) => {
  const list = makeList(session, {
    caption: query.size === 0 ? 'Votes of the last 24 hours, newest first' : 'Votes, newest first',
    path: `/votes?${query}`,
    none: query.size === 0 ? 'No votes in the last 24 hours.' : 'No votes like this.',
    toRow: ({ created_at, target_type, target_id, ...row }) => ({
      listing: `${target_type} ${target_id}`,
      at: created_at,
      ...row,
    }),
    linkRow: ({ listing }) => `#${String(listing).replace(' ', '/')}`,
    makeAction: (row) =>
      row.void === true
        ? null
        : makeRowButton(session, {
            command: 'votes void',
            label: 'Void',
            given: { itag: String(row.itag) },
            onDone: () => void list.load(),
          }),
  });
  return list;
};

export const showVotes: Screen = (place, session, argument) => {
  const query = new URLSearchParams(argument);
  const list = makeVoteList(session, query);
  // Of the listings' operations those that change whether users may vote.
  const changes = session.operations.filter(
    ({ command, method }) => /^(votes|listings) /.test(command) && method !== 'GET',
  );
  const isByQuery = ({ command }: PageOperation): boolean => command === 'votes void-many';
  const given = Object.fromEntries(query);
  const plans = makePlanList(session);
  fill(
    place,
    make('h1', {}, 'Votes'),
    makeFilterForm({ screen: 'votes', filters, query }),
    list.element,
    plans.element,
    make('h2', {}, 'Operations'),
    makeForms(session, changes.filter(isByQuery), { given }),
    makeForms(
      session,
      changes.filter((change) => !isByQuery(change)),
      { onDone: () => void list.load() },
    ),
  );
  void list.load();
  void plans.load();
};
