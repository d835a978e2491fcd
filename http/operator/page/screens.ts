/**
 * The screens that are lists and forms: find, one entity, people, troubles, and all operations.
 * Each shows itself in `place` and may return what ends it.
 */
import { type Answer, describeAnswer, type Json, type PageOperation, type PageSession } from './api.ts';
import { fill, make, makeEntityLink } from './dom.ts';
import { toFilterAddress } from './filters.ts';
import { makeForms, makeRowButton } from './operations.ts';
import { makeAnswer, makeList, makeObject, makeTable } from './tables.ts';

export type Screen = (place: HTMLElement, session: PageSession, argument: string) => (() => void) | undefined;

const selectGroups = ({ operations }: PageSession, groups: readonly string[]): readonly PageOperation[] =>
  operations.filter(({ command }) => groups.includes(command.split(' ')[0] ?? ''));

/** `id`: the field that identifies a row; `parameter`: the path parameter of its own operations. */
const kinds = [
  { name: 'bot', plural: 'bots', id: 'bot_id', parameter: 'id' },
  { name: 'server', plural: 'servers', id: 'server_id', parameter: 'id' },
  { name: 'team', plural: 'teams', id: 'id', parameter: 'id' },
  { name: 'pack', plural: 'packs', id: 'url', parameter: 'url' },
  { name: 'user', plural: 'users', id: 'id', parameter: 'id' },
] as const;
type Kind = (typeof kinds)[number];

const linkTo =
  ({ name, id }: Kind) =>
  (row: Json): string =>
    `#${name}/${encodeURIComponent(String(row[id]))}`;

const isUuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Searches all kinds; also finds a bot or a team by its vanity code, and what has a UUID. */
export const showFind: Screen = (place, session, text) => {
  const field = { type: 'search', id: 'search', value: text, maxlength: '128', autocomplete: 'off' };
  const input = make('input', field);
  const onsubmit = (event: Event): void => {
    event.preventDefault();
    location.hash = `#find/${encodeURIComponent(input.value.trim())}`;
  };
  const search = make(
    'form',
    { class: 'search', role: 'search', onsubmit },
    make('label', { for: 'search' }, 'An id, an itag, a vanity code, or the start of a name'),
    make('div', { class: 'actions' }, input, make('button', { class: 'main' }, 'Find')),
  );
  const results = make('div', {});
  fill(place, make('h1', {}, 'Find'), search, results);
  input.focus();
  if (text !== '') void searchKinds(session, text, results);
};

const searchKinds = async (session: PageSession, text: string, results: HTMLElement): Promise<void> => {
  const query = encodeURIComponent(text);
  const lists = kinds.map((kind) =>
    makeList(session, {
      caption: kind.plural,
      path: `/${kind.plural}?search=${query}`,
      none: `No ${kind.plural}.`,
      linkRow: linkTo(kind),
    }),
  );
  const direct = make('p', {});
  if (isUuid.test(text)) {
    const { json } = await session.call('GET', `/found/${query}`);
    const rows = Array.isArray(json.found) ? (json.found as Json[]) : [];
    direct.append(
      ...rows.flatMap(({ what, target_type, target_id }) => [
        makeEntityLink(String(target_type), target_id),
        what === 'listing' ? ' has this itag. ' : ` has the ${what} with this id. `,
      ]),
    );
  }
  fill(results, direct, ...lists.map(({ element }) => element));
  const found = ['bot', 'team'].map(async (kind) => {
    const { status, json } = await session.call('GET', `/${kind}s/${query}`);
    const id = String(json[`${kind}_id`] ?? json.id);
    if (status === 200 && id !== text) direct.append(makeEntityLink(kind, id), ' has this vanity code. ');
  });
  await Promise.all([...found, ...lists.map(({ load }) => load())]);
};

/** The operations on one entity, with the values of the path that name it. */
const selectOwn = ({ operations }: PageSession, { name, plural, parameter }: Kind, id: string) => {
  const isOwn = ({ path }: PageOperation): boolean =>
    path.startsWith(`/${plural}/{${parameter}}`) ||
    (path.startsWith('/{target_type}/{target_id}') && !path.includes('{session_id}'));
  const isPossible = ({ path, params }: PageOperation): boolean =>
    params?.properties?.target_type?.enum?.includes(name) ?? path.startsWith(`/${plural}/`);
  const isChange = ({ command, method }: PageOperation): boolean =>
    method !== 'GET' && !command.endsWith(' add');
  return {
    operations: operations.filter(
      (operation) => isOwn(operation) && isPossible(operation) && isChange(operation),
    ),
    given: { [parameter]: id, target_type: name, target_id: id },
  };
};

const makeEntityScreen =
  (kind: Kind): Screen =>
  (place, session, id) => {
    const facts = make('section', { 'aria-label': 'Facts' });
    const more = make('section', { 'aria-label': 'Tokens and stores' });
    const title = make('h1', {}, `${kind.name} ${id}`);
    const load = async (): Promise<void> => {
      const own = `/${kind.plural}/${encodeURIComponent(id)}`;
      // Servers have no operation that shows one.
      const isServer = kind.name === 'server';
      const { status, json } = await session.call('GET', isServer ? `/servers?search=${id}` : own);
      const fields = isServer ? ((json.servers as readonly Json[] | undefined)?.[0] ?? json) : json;
      fill(title, String(fields.name ?? fields.username ?? id), make('small', {}, ` ${kind.name}`));
      fill(
        facts,
        status === 200 ? makeObject(fields) : make('p', { class: 'none' }, describeAnswer({ status, json })),
      );
      await loadMore(session, kind, { id, place: more });
    };
    const { operations, given } = selectOwn(session, kind, id);
    const forms = makeForms(session, operations, { given, onDone: () => void load() });
    fill(place, title, facts, make('h2', {}, 'Operations'), forms, more);
    void load();
  };

type Target = Readonly<Record<'target_type' | 'target_id', string>>;

/** The active tokens of an entity, each with a button that revokes it; `null` for none. */
const makeTokens = (
  session: PageSession,
  { target, json }: { target: Target; json: Json },
  onDone: () => void,
) => {
  const rows = json.sessions as readonly Json[];
  if (rows.length === 0) return null;
  const makeAction = ({ id }: Json) =>
    makeRowButton(session, {
      command: 'tokens revoke',
      label: 'Revoke',
      given: { ...target, session_id: String(id) },
      onDone,
    });
  return makeTable(rows, { caption: 'Active tokens', makeAction });
};

/** The tokens of an entity, its votes, and what each store has about it. */
const loadMore = async (
  session: PageSession,
  kind: Kind,
  { id, place }: { id: string; place: HTMLElement },
): Promise<void> => {
  const { name } = kind;
  const key = encodeURIComponent(id);
  const target = { target_type: name, target_id: id };
  const votes = toFilterAddress('votes', name === 'user' ? { user: id } : target);
  const paths = [
    ...(name === 'pack' ? [] : [['Active tokens', `/${name}/${key}/tokens`]]),
    ['What operators changed', `/audit?target=${key}`],
    ...(name === 'user' ? [] : [['What each store has', `/stores/inspect/${name}/${key}`]]),
  ] as const;
  const answers = await Promise.all(paths.map(([, path = '']) => session.call('GET', path)));
  const parts = paths.flatMap(([title = ''], at) => {
    const { status, json } = answers[at] as Answer;
    if (status !== 200) return [];
    if ('sessions' in json)
      return makeTokens(session, { target, json }, () => void loadMore(session, kind, { id, place })) ?? [];
    return [make('details', {}, make('summary', {}, title), makeAnswer(json))];
  });
  fill(place, make('h2', {}, 'More'), make('p', {}, make('a', { href: votes }, 'Votes')), ...parts);
};

export const entityScreens: Readonly<Record<string, Screen>> = Object.fromEntries(
  kinds.map((kind) => [kind.name, makeEntityScreen(kind)]),
);

export const showPeople: Screen = (place, session, ban) => {
  const people = kinds.find(({ name }) => name === 'user') as Kind;
  const filters = [
    ['', 'All'],
    ['banned', 'Banned'],
    ['vote_banned', 'Banned from voting'],
  ] as const;
  const links = filters.map(([value, label]) =>
    make('a', { href: `#people/${value}`, 'aria-current': value === ban ? 'page' : 'false' }, label),
  );
  const list = makeList(session, {
    caption: 'users',
    path: ban === '' ? '/users' : `/users?ban=${encodeURIComponent(ban)}`,
    none: 'No users.',
    linkRow: linkTo(people),
  });
  fill(
    place,
    make('h1', {}, 'People'),
    make('nav', { class: 'filters', 'aria-label': 'Which users' }, ...links),
    list.element,
    make('h2', {}, 'Operations'),
    makeForms(session, selectGroups(session, ['users', 'tokens']), { onDone: () => void list.load() }),
  );
  void list.load();
};

export const showFailures: Screen = (place, session) => {
  const loadAll = (): void => {
    for (const { load } of lists) void load();
  };
  const lists = [
    makeList(session, {
      caption: 'dead letters',
      path: '/dead-letters',
      none: 'No dead letters: SQL has taken every row.',
    }),
    makeList(session, { caption: 'job runs', path: '/jobs', none: 'No job has run yet.' }),
  ];
  fill(
    place,
    make('h1', {}, 'Troubles'),
    ...lists.map(({ element }) => element),
    make('h2', {}, 'Operations'),
    makeForms(session, selectGroups(session, ['dead-letters']), { onDone: loadAll }),
  );
  loadAll();
};

export const showAll: Screen = (place, session) => {
  const groups = [...new Set(session.operations.map(({ command }) => command.split(' ')[0] ?? ''))];
  fill(
    place,
    make('h1', {}, 'Everything else'),
    make('p', {}, 'Every operation of the command line, as a form.'),
    ...groups.flatMap((group) => [make('h2', {}, group), makeForms(session, selectGroups(session, [group]))]),
  );
};
