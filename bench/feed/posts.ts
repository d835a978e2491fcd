/**
 * Posts of stats at a fixed rate, whether or not answers come, and a follower that times them: from the
 * acknowledgement of a post to the message with its number.
 */
import { Agent } from 'node:http';
import { sendOne } from '../load/send.ts';
import type { Holder } from '../scenarios/directory.ts';
import { runAtOnce } from '../shared/at-once.ts';

interface PostPlan {
  readonly url: string;
  readonly perSecond: number;
  /** They post in turn. */
  readonly bots: readonly Holder[];
}

/** A post was acknowledged: of this bot, with this number of servers, so many ms after it was sent. */
export type OnPosted = (bot: Holder, servers: number, ackMs: number) => void;

const socketsMax = 128;
const tickMs = 20;

/** Each post has a number of servers that none had before, so that it changes its bot. */
export const createPoster = () => {
  const agent = new Agent({ keepAlive: true, maxSockets: socketsMax });
  let [posts, acknowledged] = [0, 0];
  const post = async (url: string, bot: Holder, onPosted: OnPosted): Promise<void> => {
    const servers = ++posts;
    const startedMs = performance.now();
    const headers = { authorization: `Bot ${bot.token}` };
    const body = `{"servers":${servers}}`;
    const { status } = await sendOne(agent, url, { method: 'POST', path: '/bots/stats', headers, body });
    if (status !== 200) throw new Error(`a post got ${status}`);
    acknowledged += 1;
    onPosted(bot, servers, performance.now() - startedMs);
  };
  return {
    /** Posts that were acknowledged. */
    get acknowledged() {
      return acknowledged;
    },
    /** Posts until the returned function is called, which resolves after the last answer. */
    start: ({ url, perSecond, bots }: PostPlan, onPosted: OnPosted) => {
      const pending = new Set<Promise<void>>();
      let [owed, next] = [0, 0];
      const timer = setInterval(() => {
        owed += (perSecond * tickMs) / 1_000;
        for (; owed >= 1; owed--) {
          const sent = post(url, bots[next++ % bots.length] as Holder, onPosted);
          pending.add(sent);
          void sent.finally(() => pending.delete(sent));
        }
      }, tickMs);
      return async (): Promise<void> => {
        clearInterval(timer);
        await Promise.all(pending);
      };
    },
    /** One post of each bot, as fast as the server answers. */
    postAll: (url: string, bots: readonly Holder[]): Promise<void> =>
      runAtOnce(bots, socketsMax, (bot) => post(url, bot, () => {})),
    close: () => agent.destroy(),
  };
};

export interface Probe {
  acknowledge(bot: Holder, servers: number): void;
  close(): void;
}

/** Follows these bots; adds to `delaysMs` how long after its acknowledgement each post was shown. */
export const startProbe = async (
  url: string,
  bots: readonly Holder[],
  delaysMs: number[],
): Promise<Probe> => {
  const waiting = new Map<string, Map<number, number>>();
  const targets = bots.map(({ id }) => `bot/${id}`);
  const socket = new WebSocket(`${url.replace('http', 'ws')}/feed?targets=${targets.join()}`);
  const shown = new Map<string, number>();
  const take = (id: string, servers: number): void => {
    const nowMs = performance.now();
    shown.set(id, servers);
    for (const [number, ackedMs] of waiting.get(id) ?? []) {
      if (number > servers) continue;
      delaysMs.push(nowMs - ackedMs);
      waiting.get(id)?.delete(number);
    }
  };
  socket.addEventListener('message', ({ data: text }) => {
    const { event, data } = JSON.parse(String(text));
    if (event === 'totals') take(data.target.slice('bot/'.length), data.totals.servers);
  });
  await new Promise((resolve) => socket.addEventListener('open', resolve, { once: true }));
  return {
    acknowledge: ({ id }, servers) => {
      // The message may come before the answer is read.
      if ((shown.get(id) ?? 0) >= servers) delaysMs.push(0);
      else waiting.set(id, (waiting.get(id) ?? new Map()).set(servers, performance.now()));
    },
    close: () => socket.close(),
  };
};
