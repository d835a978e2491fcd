/**
 * The operator's page: signs in, shows the screen that the address names, and moves between screens by keys.
 *
 * Loaded by page.html. Without a token it shows only where to type one.
 */
import { authenticate, forgetToken, type PageSession, readToken } from './api.ts';
import { showAudit } from './audit.ts';
import { fill, isCommandKey, make, showPairs } from './dom.ts';
import { showNow } from './now.ts';
import { showPlan } from './plans.ts';
import { showQueue } from './queue.ts';
import { entityScreens, type Screen, showAll, showFailures, showFind, showPeople } from './screens.ts';
import { showSuspects } from './suspects.ts';
import { showVotes } from './votes.ts';

const menu = [
  ['now', 'Now'],
  ['find', 'Find'],
  ['queue', 'Queue'],
  ['votes', 'Votes'],
  ['suspects', 'Suspects'],
  ['people', 'People'],
  ['troubles', 'Troubles'],
  ['audit', 'Audit'],
  ['all', 'Everything else'],
] as const;

const keys = [
  [`1 – ${menu.length}`, 'the screens, in the order of the menu'],
  ['/', 'find'],
  ['j k', 'in the queue: the next bot, the one before'],
  ['a d', 'in the queue: approve, or deny with a note; it is sent after ten seconds'],
  ['u', 'in the queue: take the newest decision back'],
  ['c', 'in the queue: claim'],
  ['?', 'this list'],
] as const;

const showKeys = (): void => showPairs('Keys', keys);
const state = make('p', { class: 'state' });

const setState = (text: string, isWrong: boolean): void => {
  state.className = isWrong ? 'state wrong' : 'state';
  fill(state, text);
};

const screens: Readonly<Record<string, Screen>> = {
  ...entityScreens,
  now: (place) => showNow(place, setState),
  find: showFind,
  queue: showQueue,
  votes: showVotes,
  suspects: showSuspects,
  plan: showPlan,
  people: showPeople,
  troubles: showFailures,
  audit: showAudit,
  all: showAll,
};

/** The screen that the address names, `now` for none, and what follows its name. */
const readAddress = (): readonly [name: string, argument: string] => {
  const [name = '', ...rest] = location.hash.slice(1).split('/');
  try {
    return [Object.hasOwn(screens, name) ? name : 'now', decodeURIComponent(rest.join('/'))];
  } catch {
    return ['find', ''];
  }
};

const signOut = (): void => {
  forgetToken();
  location.reload();
};

const showPage = (session: PageSession): void => {
  const links = menu.map(([name, label]) => make('a', { href: `#${name}` }, label));
  const place = make('main', { tabindex: '-1' });
  const role = session.readOnly ? `${session.operator} (may only read)` : session.operator;
  const header = make(
    'header',
    {},
    make('strong', {}, 'Rollcall'),
    make('nav', { 'aria-label': 'Screens' }, ...links),
    state,
    make('span', { class: 'operator', title: role }, role),
    make('button', { onclick: showKeys, 'aria-label': 'Keys' }, '?'),
    make('button', { onclick: signOut }, 'Sign out'),
  );
  let end: (() => void) | undefined;
  const show = (): void => {
    const [name, argument] = readAddress();
    end?.();
    setState('', false);
    for (const link of links) {
      const isCurrent = link.hash === `#${name}`;
      link.setAttribute('aria-current', isCurrent ? 'page' : 'false');
      if (isCurrent) link.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    }
    document.title = `${menu.find(([id]) => id === name)?.[1] ?? argument} – Rollcall operator`;
    end = screens[name]?.(place, session, argument);
  };
  fill(document.body, header, place);
  addEventListener('hashchange', show);
  document.addEventListener('keydown', (event) => {
    if (!isCommandKey(event)) return;
    if (event.key === '/') {
      event.preventDefault();
      location.hash = '#find';
    }
    if (event.key === '?') showKeys();
    const screen = menu[Number(event.key) - 1];
    if (screen !== undefined) location.hash = `#${screen[0]}`;
  });
  show();
};

const showSignIn = (reason: string): void => {
  const input = make('input', {
    type: 'password',
    id: 'token',
    required: true,
    autocomplete: 'off',
    'aria-describedby': 'token-hint',
  });
  const message = make('p', { class: 'wrong', role: 'alert' }, reason);
  const onsubmit = async (event: Event): Promise<void> => {
    event.preventDefault();
    await start(input.value.trim());
  };
  const form = make(
    'form',
    { class: 'sign-in', onsubmit },
    make('h1', {}, 'Rollcall operator'),
    make('label', { for: 'token' }, "The operator's token"),
    input,
    make(
      'small',
      { id: 'token-hint' },
      'From ADMIN_TOKEN, ADMIN_TOKENS, or operator-token in the data folder.',
    ),
    message,
    make('button', { class: 'main' }, 'Sign in'),
  );
  fill(document.body, make('main', {}, form));
  input.focus();
};

const start = async (token: string): Promise<void> => {
  if (token === '') return showSignIn('');
  const session = await authenticate(token, signOut);
  if (typeof session === 'string') showSignIn(session);
  else showPage(session);
};

await start(readToken());
