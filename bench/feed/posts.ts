/**
 * Posts of stats at a fixed rate, whether or not answers come, and a follower that times them: from the
 * acknowledgement of a post to the message with its number.
 */
import { Agent, request } from 'node:http';
import type { Holder } from '../scenarios/directory.ts';

export interface PostPlan {
  readonly url: string;
  readonly perSecond: number;
  /** They post in turn. */
  readonly bots: readonly Holder[];
}

/** A post was acknowledged: of this bot, with this number of servers, so many ms after it was sent. */
export type OnPosted = (bot: Holder, servers: number, ackMs: number) => void;

export interface Poster {
  /** Posts that were acknowledged. */
  readonly acknowledged: number;
  /** Posts until the returned function is called, which resolves after the last answer. */
  start(plan: PostPlan, onPosted: OnPosted): () => Promise<void>;
  /** One post of each bot, as fast as the server answers. */
  postAll(url: string, bots: readonly Holder[]): Promise<void>;
  close(): void;
}

const socketsMax = 128;
const tickMs = 20;

/** Each post has a number of servers that none had before, so that it changes its bot. */
export const createPoster = (): Poster => {
  const agent = new Agent({ keepAlive: true, maxSockets: socketsMax });
  let posts = 0;
  let acknowledged = 0;
  const post = async (url: string, bot: Holder, onPosted: OnPosted): Promise<void> => {
    const servers = ++posts;
    const ackMs = await send(agent, url, { bot, servers });
    acknowledged += 1;
    onPosted(bot, servers, ackMs);
  };
  return {
    get acknowledged() {
      return acknowledged;
    },
    start: ({ url, perSecond, bots }, onPosted) => {
      const pending = new Set<Promise<void>>();
      let owed = 0;
      let next = 0;
      const timer = setInterval(() => {
        owed += (perSecond * tickMs) / 1_000;
        for (; owed >= 1; owed--) {
          const sent = post(url, bots[next++ % bots.length] as Holder, onPosted);
          pending.add(sent);
          void sent.finally(() => pending.delete(sent));
        }
      }, tickMs);
      return async () => {
        clearInterval(timer);
        await Promise.all(pending);
      };
    },
    postAll: async (url, bots) => {
      const left = bots.values();
      const postSome = async (): Promise<void> => {
        for (const bot of left) await post(url, bot, () => {});
      };
      await Promise.all(Array.from({ length: socketsMax }, postSome));
    },
    close: () => agent.destroy(),
  };
};

const send = (
  agent: Agent,
  url: string,
  { bot, servers }: { readonly bot: Holder; readonly servers: number },
): Promise<number> =>
  new Promise((resolve, reject) => {
    const startedMs = performance.now();
    const body = `{"servers":${servers}}`;
    const headers = { authorization: `Bot ${bot.token}`, 'content-length': body.length };
    const sent = request(`${url}/bots/stats`, { agent, method: 'POST', headers }, (response) => {
      response.resume().once('end', () => {
        if (response.statusCode === 200) resolve(performance.now() - startedMs);
        else reject(new Error(`a post got ${response.statusCode}`));
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });

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
