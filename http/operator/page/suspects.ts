/**
 * The screen *Suspects*: votes by hour as a chart, and what looks wrong, each with its reason; of all
 * listings, or of one beside what would be a surge of it. *Plan* makes the plan that would void the votes of
 * a row, and shows it; its screen asks before it does.
 */
import type { Json, PageSession } from './api.ts';
import { createChart } from './charts.ts';
import { fill, make, makeEntityLink } from './dom.ts';
import { makeRowButton } from './operations.ts';
import type { Screen } from './screens.ts';
import { makeList } from './tables.ts';

const hourMs = 3_600_000;
const surge = 16;

/** The query of the plan: a surge has no address, so it takes all votes of its hour. */
const toQuery = ({ target_type, target_id, address_hash, first_at, last_at, flag, found, why }: Json) => ({
  ...(target_id ? { target_type: String(target_type), target_id: String(target_id) } : {}),
  ...(address_hash ? { address_hash: String(address_hash) } : {}),
  ...(flag === surge ? {} : { flags: String(flag) }),
  since: String(first_at),
  before: new Date(Date.parse(String(last_at)) + 1).toISOString(),
  reason: `${found}: ${why}`.slice(0, 500),
});

const makeSuspectList = (session: PageSession, query: string) =>
  makeList(session, {
    caption: 'What looks wrong, newest first',
    path: `/votes/suspects?${query}`,
    none: 'Nothing looks wrong.',
    toRow: ({ target_type, target_id, ...row }) => ({
      listing: target_id ? `${target_type} ${target_id}` : 'several',
      ...row,
      target_type,
      target_id,
    }),
    linkRow: ({ target_type, target_id }) => {
      const listing = new URLSearchParams({ target_type: String(target_type), target_id: String(target_id) });
      return target_id ? `#suspects/${encodeURIComponent(String(listing))}` : null;
    },
    makeAction: (row) =>
      makeRowButton(session, {
        command: 'votes void-many',
        label: 'Plan',
        given: toQuery(row),
        onDone: () => {},
      }),
  });

interface VoteHour {
  readonly hour: string;
  readonly votes: number;
  readonly young: number | null;
  readonly surge_above: number | null;
}

/** Every hour from the first to the last; those without votes are 0. */
const toColumns = (hours: readonly VoteHour[]): [number[], number[], number[]] => {
  const byTime = new Map(hours.map((hour) => [Date.parse(hour.hour), hour]));
  const [first = 0, last = 0] = [hours[0]?.hour, hours.at(-1)?.hour].map((text) => Date.parse(text ?? ''));
  const times = Array.from({ length: (last - first) / hourMs + 1 || 0 }, (_, at) => first + at * hourMs);
  return [
    times.map((ms) => ms / 1_000),
    times.map((ms) => byTime.get(ms)?.votes ?? 0),
    times.map((ms) => byTime.get(ms)?.surge_above ?? byTime.get(ms)?.young ?? 0),
  ];
};

export const showSuspects: Screen = (place, session, argument) => {
  const listing = new URLSearchParams(argument);
  const list = makeSuspectList(session, listing.toString());
  const [kind, id] = [listing.get('target_type'), listing.get('target_id')];
  const isOne = kind !== null && id !== null;
  const chart = createChart({
    title: `Votes ${isOne ? `on ${kind} ${id} ` : ''}by hour (UTC), two weeks`,
    unit: '',
    lines: isOne ? ['votes', 'a surge is above'] : ['all', 'new accounts'],
  });
  const all = make('a', { href: '#suspects' }, 'All listings');
  const path = isOne ? make('p', {}, all, ' ', makeEntityLink(kind, id, `The ${kind}`), ' ') : null;
  fill(place, make('h1', {}, 'Suspects'), path, chart.element, list.element);
  void list.load();
  void session.call('GET', `/votes/hours?${isOne ? listing : ''}`).then(({ json }) => {
    chart.setData(toColumns(Array.isArray(json.hours) ? (json.hours as VoteHour[]) : []));
  });
  return chart.end;
};
