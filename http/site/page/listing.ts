/**
 * The page of a listing: numbers that stay current, the vote button with its login, the chart.
 */
import { type Account, findDemoAccounts, forgetAccount, readAccount, startLogin } from './account.ts';
import { renderChart } from './chart.ts';
import './code.ts';
import { followTotals } from './live.ts';

const listing = document.querySelector('.listing') as HTMLElement;
const { kind = '', id = '' } = listing.dataset;
const path = `/${kind}/${encodeURIComponent(id)}`;
const numbers = new Intl.NumberFormat('en');

/** The feed keeps the numbers current; elements whose name it does not send are left. */
const follow = (): void => {
  followTotals([`${kind.slice(0, -1)}/${id}`], ({ totals }) => {
    for (const element of document.querySelectorAll<HTMLElement>('[data-live]')) {
      const value = totals[element.dataset.live ?? ''];
      if (value !== undefined) element.textContent = numbers.format(value);
    }
    const status = document.querySelector<HTMLElement>('[data-status]');
    if (status === null || totals.status === undefined) return;
    status.textContent = totals.status;
    status.dataset.status = totals.status;
  });
};

const units: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

/** Shows times as `2 hours ago`; the exact time stays as the title. */
const showAges = (): void => {
  for (const time of document.querySelectorAll('time')) {
    const seconds = (Date.parse(time.dateTime) - Date.now()) / 1_000;
    const [unit, size] = units.find(([, least]) => Math.abs(seconds) >= least) ?? ['second', 1];
    time.title = time.textContent ?? '';
    time.textContent = relative.format(Math.round(seconds / size), unit);
  }
};

const button = document.getElementById('vote') as HTMLButtonElement | null;
const note = document.getElementById('vote-note') as HTMLElement;

interface TopVoter {
  readonly user: { readonly display_name: string };
  readonly votes: number;
  readonly streak: number;
}
interface Wait {
  readonly hours: number;
  readonly minutes: number;
  readonly seconds: number;
}

const count = (number: number, unit: string): string => `${number} ${unit}${number === 1 ? '' : 's'}`;

/** Formats a wait: `5 hours and 59 minutes`. */
const formatWait = ({ hours, minutes, seconds }: Wait): string => {
  const parts = [
    ...(hours > 0 ? [count(hours, 'hour')] : []),
    ...(minutes > 0 ? [count(minutes, 'minute')] : []),
    ...(hours === 0 && (minutes === 0 || seconds > 0) ? [count(seconds, 'second')] : []),
  ];
  return parts.join(' and ');
};

/** Keeps the button off until the wait is over. */
const showWait = (wait: Wait, message: string): void => {
  const untilMs = Date.now() + (wait.hours * 3_600 + wait.minutes * 60 + wait.seconds) * 1_000;
  const tick = (): void => {
    const left = Math.ceil((untilMs - Date.now()) / 1_000);
    if (button !== null) button.disabled = left > 0;
    if (left <= 0) {
      note.textContent = 'You can vote again.';
      return;
    }
    const parts = {
      hours: Math.floor(left / 3_600),
      minutes: Math.floor(left / 60) % 60,
      seconds: left % 60,
    };
    note.textContent = `${message}You can vote again in ${formatWait(parts)}.`;
    setTimeout(tick, left > 120 ? 30_000 : 1_000);
  };
  tick();
};

const readWait = async (account: Account): Promise<Wait> => {
  const reply = await fetch(`/users/${encodeURIComponent(account.id)}${path}/votes`);
  return reply.ok ? (await reply.json()).wait : { hours: 0, minutes: 0, seconds: 0 };
};

const isOver = ({ hours, minutes, seconds }: Wait): boolean => hours + minutes + seconds === 0;

/** Shows how often the user has voted here. */
const showVoter = async (account: Account): Promise<void> => {
  const reply = await fetch(`/users/${encodeURIComponent(account.id)}${path}/votes/summary`);
  const voter = document.getElementById('voter-note');
  if (!reply.ok || voter === null) return;
  const { times, streak } = await reply.json();
  voter.hidden = times === 0;
  voter.textContent = `You voted ${count(times, 'time')}${streak > 1 ? `, ${streak} days in a row` : ''}.`;
};

/** What the link to this page said about itself, for the vote; anything of another form is left out. */
const findRef = (): string => {
  const ref = new URLSearchParams(location.search).get('ref') ?? '';
  return /^[\w.~-]{1,64}$/.test(ref) ? `&ref=${ref}` : '';
};

/** Sends a vote. Resolves to the wait before the next one; `null`: the note says why there is none. */
const sendVote = async (account: Account): Promise<Wait | null> => {
  const reply = await fetch(`/users/${encodeURIComponent(account.id)}${path}/votes?upvote=true${findRef()}`, {
    method: 'PUT',
    headers: { 'User-Auth': account.token },
  });
  if (reply.status === 204) {
    note.textContent = 'Thank you for your vote. ';
    void showVoter(account);
    return readWait(account);
  }
  const { message, context } = await reply.json();
  note.textContent = '';
  if (reply.status === 429 && context.hours !== undefined)
    return { hours: +context.hours, minutes: +context.minutes, seconds: +context.seconds };
  if (reply.status === 401) await forgetAccount();
  note.textContent = reply.status === 401 ? 'Your login has ended. Vote again to log in.' : message;
  if (context.code === 'proof_required')
    note.textContent = 'Votes need a proof that you are human, which this page cannot take.';
  return null;
};

const topShown = 10;

/** Lists the first of the top voters; none where they are for owners only. */
const showTopVoters = async (): Promise<void> => {
  const reply = await fetch(`${path}/votes/top`);
  const { results = [] } = reply.ok ? await reply.json() : {};
  const section = document.getElementById('top-voters');
  if (section === null || results.length === 0) return;
  const items = results.slice(0, topShown).map(({ user, votes, streak }: TopVoter) => {
    const item = document.createElement('li');
    const days = streak > 1 ? `, ${streak} days in a row` : '';
    item.textContent = `${user.display_name}: ${count(votes, 'vote')}${days}`;
    item.dir = 'auto';
    return item;
  });
  section.querySelector('ol')?.replaceChildren(...items);
  section.hidden = false;
};

const voteKey = 'rollcall-vote';

/** The accounts of the demo that have not voted here: each click votes as the next one. */
const demo: Account[] = [];

const vote = async (): Promise<void> => {
  const account = readAccount() ?? demo.shift();
  if (account === undefined) {
    sessionStorage.setItem(voteKey, path);
    note.textContent = await startLogin(location.pathname + location.search);
    return;
  }
  const wait = await sendVote(account);
  if (wait === null) return;
  if (demo.length > 0) note.textContent += 'The next click is the vote of another user.';
  else showWait(wait, note.textContent ?? '');
};

const showAccount = (): void => {
  const out = Object.assign(document.createElement('button'), { type: 'button', textContent: 'Log out' });
  out.addEventListener('click', async () => {
    await forgetAccount();
    location.reload();
  });
  button?.parentElement?.append(out);
};

const prepareVote = async (): Promise<void> => {
  if (button === null) return;
  const account = readAccount();
  if (account === null) demo.push(...(await findDemoAccounts()));
  button.hidden = false;
  button.addEventListener('click', async () => {
    await vote().catch(() => {
      note.textContent = 'The server does not answer. Try again.';
    });
  });
  if (account === null) {
    if (demo.length > 0) note.textContent = 'You vote as the users of the demo.';
    return;
  }
  showAccount();
  const isReturning = sessionStorage.getItem(voteKey) === path;
  sessionStorage.removeItem(voteKey);
  if (isReturning) button.click();
  else {
    void showVoter(account);
    const wait = await readWait(account);
    if (!isOver(wait)) showWait(wait, '');
  }
};

const dayMs = 86_400_000;
const ranges: readonly (readonly [title: string, days: number])[] = [
  ['24 hours', 1],
  ['7 days', 7],
  ['30 days', 30],
  ['1 year', 365],
];

const place = document.getElementById('chart') as HTMLElement;
const choices = document.getElementById('chart-choices') as HTMLElement;
const chosen = { metric: 0, days: 30 };
const metrics = JSON.parse(place.dataset.metrics ?? '[]') as readonly (readonly [string, string])[];

const loadChart = async (): Promise<void> => {
  const [metric = '', title = ''] = metrics[chosen.metric] ?? [];
  const from = new Date(Date.now() - chosen.days * dayMs).toISOString();
  const reply = await fetch(`${path}/history?metrics=${metric}&from=${from}`);
  const json = await reply.json();
  if (!reply.ok) throw new Error(String(json.message));
  place.replaceChildren(...renderChart({ times: json.times, values: json.series[metric] }, title));
};

const showChart = (): void => {
  const choose = (title: string, isChosen: boolean, select: () => void): HTMLButtonElement => {
    const choice = Object.assign(document.createElement('button'), { type: 'button', textContent: title });
    choice.ariaPressed = String(isChosen);
    choice.addEventListener('click', () => {
      select();
      const at = [...choices.children].indexOf(choice);
      showChart();
      (choices.children[at] as HTMLElement).focus();
    });
    return choice;
  };
  choices.replaceChildren(
    ...(metrics.length < 2 ? [] : metrics).map(([, title], index) =>
      choose(title, chosen.metric === index, () => Object.assign(chosen, { metric: index })),
    ),
    ...ranges.map(([title, days]) =>
      choose(title, chosen.days === days, () => Object.assign(chosen, { days })),
    ),
  );
  loadChart().catch(() => {
    place.textContent = 'The history is not available at the moment.';
  });
};

/** The note that a part of the text is plain is for those who may edit the listing. */
const showCutNote = async (): Promise<void> => {
  const cut = document.getElementById('long-cut');
  const account = readAccount();
  if (cut === null || account === null) return;
  const reply = await fetch(`/users/${encodeURIComponent(account.id)}${path}/perms`);
  const perms: readonly string[] = reply.ok ? (await reply.json()).perms : [];
  cut.hidden = !perms.includes(kind === 'bots' ? 'edit_bots' : 'edit_servers');
};

showAges();
follow();
showChart();
showCutNote().catch(() => {});
showTopVoters().catch(() => {});
await prepareVote();
