/**
 * The front page: votes that arrive while it is open, and with the demo three requests to send.
 */
import { makeCopyButton } from './code.ts';
import { followTotals } from './live.ts';

interface TryRequest {
  readonly title: string;
  readonly method: string;
  readonly path: string;
  readonly token?: readonly [header: string, token: string];
  readonly body?: string;
}

const make = (tag: string, text = ''): HTMLElement =>
  Object.assign(document.createElement(tag), { textContent: text });

const toCommand = ({ method, path, token, body }: TryRequest): string => {
  const words = [method === 'GET' ? 'curl' : `curl -X ${method}`, `'${location.origin}${path}'`];
  if (token !== undefined) words.push(`-H '${token.join(': ')}'`);
  if (body !== undefined) words.push(`-d '${body}'`);
  return words.join(' ');
};

const send = async ({ method, path, token, body }: TryRequest): Promise<string> => {
  const reply = await fetch(path, { method, body: body ?? null, headers: token ? [[...token]] : [] });
  const text = await reply.text();
  return `${reply.status}\n${text === '' ? '' : JSON.stringify(JSON.parse(text), null, 1)}`;
};

/** Makes a box with requests to try, sent by turns: the second click sends the second one. */
const makeRequest = (requests: readonly [TryRequest, ...TryRequest[]]): HTMLElement => {
  const [first] = requests;
  const command = toCommand(first);
  const answer = make('pre');
  Object.assign(answer, {
    tabIndex: 0,
    role: 'region',
    ariaLabel: `Answer: ${first.title}`,
    ariaLive: 'polite',
  });
  const button = make('button', 'Send');
  let sent = 0;
  button.addEventListener('click', async () => {
    const request = requests[sent % requests.length] as TryRequest;
    sent += 1;
    answer.textContent = await send(request).catch(() => 'The server does not answer.');
  });
  const part = make('div');
  part.className = 'request';
  const shown = make('pre', command);
  Object.assign(shown, { tabIndex: 0, role: 'region', ariaLabel: `Command: ${first.title}` });
  part.append(make('h3', first.title), shown, button, makeCopyButton(command, first.title), answer);
  return part;
};

/** Shows the requests of the demo. Only a browser on the server's machine gets the demo's tokens. */
const showRequests = async (): Promise<void> => {
  const reply = await fetch('/docs/demo.json');
  const demo = await reply.json();
  if (demo === null) return;
  const { bot, user, second_user: second } = demo;
  const toVote = (title: string, voter: { id: string; token: string }): TryRequest => ({
    title,
    method: 'PUT',
    path: `/users/${voter.id}/bots/${bot.id}/votes?upvote=true`,
    token: ['User-Auth', voter.token],
  });
  const stats: TryRequest = {
    title: 'A bot posts its stats',
    method: 'POST',
    path: '/bots/stats',
    token: ['Bot-Auth', bot.token],
    body: '{"servers":1234,"users":56789,"status":"online"}',
  };
  const read = { title: 'Anyone reads the totals', method: 'GET', path: `/bots/${bot.id}?target=page` };
  document
    .getElementById('requests')
    ?.append(
      makeRequest([stats]),
      makeRequest([toVote('A user votes for it', user), toVote('Another user votes', second)]),
      makeRequest([read]),
    );
  (document.getElementById('try') as HTMLElement).hidden = false;
};

/** The feed keeps the numbers of all listings on the page current. */
const follow = (): void => {
  const cells = [...document.querySelectorAll<HTMLElement>('[data-target]')];
  const targets = [...new Set(cells.map(({ dataset }) => dataset.target ?? ''))];
  if (targets.length === 0) return;
  const numbers = new Intl.NumberFormat('en');
  followTotals(targets, ({ target, totals }) => {
    for (const cell of cells.filter(({ dataset }) => dataset.target === target)) {
      const value = totals[cell.dataset.metric ?? ''];
      if (value !== undefined) cell.textContent = numbers.format(value);
    }
  });
};

follow();
await showRequests().catch(() => null);
