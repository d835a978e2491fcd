/**
 * Edits, sessions and webhooks of the outsiders beside the load, each with the time of its answer; and what a
 * node must show of them.
 */
import { randomBytes } from 'node:crypto';
import { nowMs } from '../../../bench/prove/client-log.ts';
import type { ClientRequest } from '../../../bench/shared/http-client.ts';
import { tokenOf } from '../../support/directory.ts';
import { type Run, read } from './embedded-run.ts';
import { outsiders } from './plans.ts';

interface Change {
  readonly callMs: number;
  /** When it was acknowledged; infinite if it never was. */
  ackedMs: number;
}
interface Edit extends Change {
  readonly bot: string;
  readonly number: number;
}
interface Made extends Change {
  readonly bot: string;
  readonly kind: 'sessions' | 'webhooks';
  id: string;
  readonly removal: Change;
}
export interface EditLog {
  readonly edits: Edit[];
  readonly made: Made[];
}

/** Random, so that the log of SQL grows to a checkpoint. */
const longBytes = 18_000;
const never = Number.POSITIVE_INFINITY;

const listOutsiders = ({ directory }: Run): string[] =>
  Array.from(
    { length: outsiders },
    (_, index) => `2${String(directory.bots.length + index).padStart(15, '0')}`,
  );

/** As the owner, from an address of its own, because limits are per address. */
const ask = ({ client, directory, random }: Run, url: string, request: ClientRequest & { send?: object }) => {
  const headers = {
    'User-Auth': tokenOf('user', directory.users[0] ?? ''),
    'Content-Type': 'application/json',
    'X-Forwarded-For': `10.2.${random.below(256)}.${random.below(256)}`,
  };
  const body = request.send === undefined ? {} : { body: JSON.stringify(request.send) };
  return client.ask(url, { ...request, headers, ...body });
};

/** Where changes are sent and logged. */
interface Editor {
  readonly run: Run;
  readonly url: string;
  readonly log: EditLog;
}

const edit = async ({ run, url, log }: Editor, bot: string): Promise<void> => {
  const change = { bot, number: log.edits.length + 1, callMs: nowMs(), ackedMs: never };
  log.edits.push(change);
  const short = `Edit number ${change.number} of a bot that is edited again and again.`;
  const long = `${change.number} ${randomBytes(longBytes).toString('base64')}`;
  const { status, text } = await ask(run, `${url}/bots/${bot}/settings`, {
    method: 'PATCH',
    send: { short, long },
  });
  if (status === 204) change.ackedMs = nowMs();
  else if (status !== 503) run.wrong.push(`an edit is answered ${status} ${text}`);
};

const bodies = {
  sessions: { type: 'api', name: 'cut', expiry: 100_000, perm_limits: ['view_sessions'] },
  webhooks: { name: 'cut', url: 'https://receiver.invalid/' },
};

/** Gives every bot of the load a webhook, whose receiver is not there. */
export const addWebhooks = async (run: Run, url: string): Promise<void> => {
  for (const bot of run.directory.bots) {
    const { status } = await ask(run, `${url}/bots/${bot}/webhooks`, {
      method: 'POST',
      send: bodies.webhooks,
    });
    if (status !== 201) throw new Error(`a webhook is answered ${status}`);
  }
};

/** Makes one, and removes every other one at once. */
const make = async ({ run, url, log }: Editor, made: Made): Promise<void> => {
  const path = `${url}/bots/${made.bot}/${made.kind}`;
  log.made.push(made);
  const { status, text } = await ask(run, path, { method: 'POST', send: bodies[made.kind] });
  if (status !== 201) return;
  made.ackedMs = nowMs();
  const answer = JSON.parse(text) as { session_id?: string; id?: string };
  made.id = answer.session_id ?? answer.id ?? '';
  if (run.random.chance(0.5)) return;
  Object.assign(made.removal, { callMs: nowMs() });
  const removed = await ask(run, `${path}/${made.id}`, { method: 'DELETE' });
  if (removed.status < 300) made.removal.ackedMs = nowMs();
};

/** One outsider after the other changes, until the node is gone or `stop`. */
export const startEdits = (run: Run, url: string) => {
  const log: EditLog = { edits: [], made: [] };
  const editor = { run, url, log };
  let stopped = false;
  const changeAll = async (): Promise<void> => {
    for (let round = 0; !stopped; round++) {
      const bot = run.random.pick(listOutsiders(run));
      const kind = round % 2 === 0 ? 'sessions' : 'webhooks';
      const removal = { callMs: never, ackedMs: never };
      await edit(editor, bot);
      await make(editor, { bot, kind, id: '', callMs: nowMs(), ackedMs: never, removal });
    }
  };
  // The node may end at any time.
  const ended = changeAll().catch(() => undefined);
  return {
    log,
    stop: () => {
      stopped = true;
      return ended;
    },
  };
};

const judgeEdits = async (run: Run, url: string, { edits, cutMs }: EditLog & { cutMs: number }) => {
  for (const [bot, all] of Map.groupBy(edits, (change) => change.bot)) {
    const shown = await read<{ short: string; long: string }>(`${url}/bots/${bot}?include=long`, run.client);
    const number = Number(/^Edit number (\d+) /.exec(shown.short)?.[1] ?? 0);
    const acked = Math.max(0, ...all.filter((one) => one.ackedMs <= cutMs).map((one) => one.number));
    const sent = all.filter((one) => one.callMs <= cutMs).map((one) => one.number);
    if (number < acked)
      run.verdict.lost.push(`bot ${bot} shows edit ${number}, and ${acked} was acknowledged`);
    if (number > 0 && !sent.includes(number)) run.verdict.doubled.push(`bot ${bot} shows edit ${number}`);
    if (number > 0 && !shown.long.startsWith(`${number} `))
      run.verdict.mixed.push(`bot ${bot}: half an edit`);
  }
};

/** What a node shows after a cut at `cutMs`: everything acknowledged before, nothing that was removed. */
export const judgeEditsAt = async (
  run: Run,
  url: string,
  log: EditLog & { cutMs: number },
): Promise<void> => {
  const { made, cutMs } = log;
  await judgeEdits(run, url, log);
  for (const [place, all] of Map.groupBy(made, ({ bot, kind }) => `bots/${bot}/${kind}`)) {
    const { text } = await ask(run, `${url}/${place}`, {});
    const shown = (JSON.parse(text) as Record<string, { session_id?: string; id?: string }[]>)[
      all[0]?.kind ?? ''
    ];
    const ids = (shown ?? []).map(({ session_id, id }) => session_id ?? id ?? '');
    if (new Set(ids).size !== ids.length) run.verdict.doubled.push(`${place} shows one twice`);
    for (const { id, ackedMs, removal } of all) {
      if (ackedMs <= cutMs && removal.callMs > cutMs && !ids.includes(id))
        run.verdict.lost.push(`${place} lacks ${id}`);
      if (removal.ackedMs <= cutMs && ids.includes(id)) run.verdict.lost.push(`${place}: ${id} is back`);
    }
  }
};
