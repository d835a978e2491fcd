/**
 * The lies that a proxy plants, each with the name that the judge must give it.
 */
import type { ProofKind } from '../../bench/prove/lies.ts';
import type { Call, LiePlan } from './lying-proxy.ts';

export interface PlantedLie {
  readonly title: string;
  readonly kind: ProofKind;
  readonly name: string;
  /** Waits for a sample of the history. */
  readonly needsSample?: boolean;
  /** A lie about one of these bots, planted once. */
  readonly plan: (bots: readonly { readonly id: string; readonly token: string }[]) => LiePlan;
}

/** True once, at the n-th time that the condition holds. */
const once = (holds: (call: Call) => boolean, after = 5): ((call: Call) => boolean) => {
  let times = 0;
  return (call) => holds(call) && ++times === after;
};

const isClick = ({ path }: Call): boolean => path.endsWith('?target=page');
const isLook = ({ method, path }: Call): boolean => method === 'GET' && /^\/bots\/\d+$/.test(path);
const isVote = ({ method }: Call): boolean => method === 'PUT';
const isLog = ({ path }: Call): boolean => path.includes('/votes/log?');
const done = { status: 200, text: '{"message":"Stats recorded.","context":{}}' };
const notNow = { status: 503, text: '{"message":"Not now.","context":{"outcome":"not_applied"}}' };
const wait = '{"message":"Wait.","context":{"code":"vote_wait","hours":"1","minutes":"0","seconds":"0"}}';

/** So long after the last answer, it has certainly reached the client. */
const apartMs = 100;

/**
 * One write is acknowledged and dropped; later ones of that bot are refused, so that none covers it. No other
 * is under way then: of two at once either may be the last.
 */
const dropOne = (token: string, ending: string): LiePlan => {
  const isMeant = (call: Call): boolean => call.token === token && call.path.endsWith(ending);
  let times = 0;
  let underWay = 0;
  let answeredMs = 0;
  let isDropped = false;
  return {
    instead: (call) => {
      if (!isMeant(call)) return null;
      if (isDropped) return notNow;
      times += 1;
      isDropped = times > 4 && underWay === 0 && performance.now() > answeredMs + apartMs;
      if (!isDropped) underWay += 1;
      return isDropped ? done : null;
    },
    change: (call) => {
      if (!isMeant(call)) return null;
      underWay -= 1;
      answeredMs = performance.now();
      return null;
    },
  };
};

const changeEntries = (change: (entries: object[]) => object[]): LiePlan => ({
  change: (call, { status, text }) => {
    if (!isLog(call) || status !== 200) return null;
    const page = JSON.parse(text) as { results: object[] };
    if (page.results.length < 3) return null;
    return { status, text: JSON.stringify({ ...page, results: change(page.results) }) };
  },
});

const changeLook = (change: (text: string, call: Call) => string | null): LiePlan => ({
  change: (call, { status, text }) => {
    const changed = isLook(call) && status === 200 ? change(text, call) : null;
    return changed === null ? null : { status, text: changed };
  },
});

const freeze = (id: string): LiePlan => {
  let looks = 0;
  let frozen = '';
  return changeLook((text, { path }) => {
    if (!path.endsWith(id)) return null;
    looks += 1;
    // The first is that of before the load.
    if (looks === 2) frozen = text;
    return looks > 2 ? frozen : null;
  });
};

const shorten = (values: (number | null)[] | undefined): (number | null)[] =>
  (values ?? []).map((value) => (value === null ? null : value - 1));

export const plantedLies: readonly PlantedLie[] = [
  {
    title: 'an acknowledged post is dropped',
    kind: 'posts',
    name: 'lost',
    plan: ([bot]) => dropOne(bot?.token ?? '', '/bots/stats'),
  },
  {
    title: 'an acknowledged post of a shard is dropped',
    kind: 'shards',
    name: 'lost',
    plan: (bots) => dropOne(bots[2]?.token ?? '', '/bots/stats/shards'),
  },
  {
    title: 'a click counts twice',
    kind: 'clicks',
    name: 'doubled',
    plan: () => ({ isRepeated: once(isClick) }),
  },
  {
    title: 'a total dips',
    kind: 'clicks',
    name: 'fell',
    plan: () => {
      const isDue = once(isLook, 12);
      return changeLook((text, call) => (isDue(call) ? text.replace(/"clicks":\d+/, '"clicks":0') : null));
    },
  },
  {
    title: 'a total stays as it was for ever',
    kind: 'posts',
    name: 'lost',
    plan: ([bot]) => freeze(bot?.id ?? ''),
  },
  {
    title: 'fields of two posts are shown together',
    kind: 'posts',
    name: 'mixed',
    plan: ([bot]) =>
      changeLook((text, { path }) =>
        path.endsWith(bot?.id ?? '-') ? text.replace(/"servers":(\d+)/, '"servers":1$1') : null,
      ),
  },
  {
    title: 'an acknowledged vote is dropped',
    kind: 'votes',
    name: 'lost',
    plan: () => {
      const isDue = once(isVote);
      return { instead: (call) => (isDue(call) ? { status: 204, text: '' } : null) };
    },
  },
  {
    title: 'a second vote is accepted within the wait',
    kind: 'votes',
    name: 'accepted twice',
    plan: () => ({
      change: (call, { status }) => (isVote(call) && status === 429 ? { status: 204, text: '' } : null),
    }),
  },
  {
    title: 'a first vote is refused',
    kind: 'votes',
    name: 'refused without cause',
    plan: () => {
      const isDue = once(isVote);
      return { instead: (call) => (isDue(call) ? { status: 429, text: wait } : null) };
    },
  },
  {
    title: 'an entry of the vote log is swallowed',
    kind: 'vote log',
    name: 'missing',
    plan: () => changeEntries((entries) => entries.toSpliced(1, 1)),
  },
  {
    title: 'an entry of the vote log is repeated',
    kind: 'vote log',
    name: 'repeated',
    plan: () => changeEntries((entries) => [entries[0] as object, ...entries]),
  },
  {
    title: 'a vote is missing in the feed',
    kind: 'feed',
    name: 'missing',
    plan: () => {
      let votes = 0;
      return { swallow: (event) => event.includes('event: vote') && ++votes === 5 };
    },
  },
  {
    title: 'the history is short by one',
    kind: 'history',
    name: 'short',
    needsSample: true,
    plan: () => ({
      change: ({ path }, { status, text }) => {
        if (!path.includes('/history') || status !== 200) return null;
        const shown = JSON.parse(text);
        const votes = shorten(shown.series.votes_logged);
        return {
          status,
          text: JSON.stringify({ ...shown, series: { ...shown.series, votes_logged: votes } }),
        };
      },
    }),
  },
  {
    title: 'a reply is about another listing',
    kind: 'replies',
    name: 'of another listing',
    plan: ([one, other]) => {
      const isDue = once(
        ({ path, ...call }) => isLook({ path, ...call }) && path.endsWith(one?.id ?? '-'),
        3,
      );
      return { redirect: (call) => (isDue(call) ? `/bots/${other?.id}` : null) };
    },
  },
  {
    title: 'an acknowledged redeem is dropped',
    kind: 'redeems',
    name: 'lost',
    plan: () => {
      const isDue = once(({ method, path }) => method === 'POST' && path.includes('/votes/credits'));
      return { instead: (call) => (isDue(call) ? done : null) };
    },
  },
];
