/**
 * `npm run bench -- feed`: what the feed costs a node, next to bare publish of as many messages of the same
 * size in the same run; how soon a change arrives, on the same node and on another; what followers cost
 * posts; and memory per connection.
 *
 * Node, bare server and followers are processes of their own. CPU is that of the event loop's thread. Called
 * by main.ts.
 */
import { ArgumentError, parseCount, text } from '../arguments.ts';
import {
  type FeedWorld,
  type Figures,
  measureBare,
  measureNode,
  type Shape,
  shapes,
} from '../feed/measure.ts';
import { createPoster } from '../feed/posts.ts';
import { type Delays, measureTwoNodes } from '../feed/two-nodes.ts';
import type { Live } from '../report/live.ts';
import { computeSpread, percentile } from '../report/statistics.ts';
import { createDirectory } from '../scenarios/directory.ts';
import { createFolder, importDirectory, startOn } from '../servers/rollcall.ts';
import { openStores } from '../servers/stores.ts';
import { type CommandContext, defineCommand, interruptedCode, type OptionValues } from './command.ts';

const usage = `Usage: npm run bench -- feed [options]

  --connections N   followers (10000)
  --changes N       posts per second where each follower has a bot of its own (2000)
  --seconds S       measured seconds of a window; a node has three per round (4)
  --rounds N        rounds (3)
  --shape NAME      one (all follow one bot), many (each follows a bot of its own); default both
  --two-nodes S     seconds of posts on one node for a client of another, on Redis and Postgres (0)
  --profile FOLDER  also writes a CPU profile of the node to FOLDER
  --json FILE       also writes the figures to FILE
`;

interface FeedOptions {
  readonly connections: number;
  readonly changes: number;
  readonly seconds: number;
  readonly rounds: number;
  readonly shapes: readonly Shape[];
  readonly twoNodesSeconds: number;
  readonly profileDir: string | null;
}

const options = {
  ...{ connections: text, changes: text, seconds: text, rounds: text, 'two-nodes': text },
  ...{ shape: text, profile: text, json: text },
};

const parse = (given: OptionValues<typeof options>): FeedOptions => {
  const { shape } = given;
  if (shape !== undefined && !shapes.some((name) => name === shape))
    throw new ArgumentError(`--shape is "${shape}" but must be one of ${shapes.join(', ')}.`);
  return {
    connections: parseCount('connections', given.connections ?? '10000', [4, 15_000]),
    changes: parseCount('changes', given.changes ?? '2000', [1, 5_000]),
    seconds: parseCount('seconds', given.seconds ?? '4', [1, 60]),
    rounds: parseCount('rounds', given.rounds ?? '3', [0, 100]),
    shapes: shapes.filter((name) => name === (shape ?? name)),
    twoNodesSeconds: parseCount('two-nodes', given['two-nodes'] ?? '0', [0, 600]),
    profileDir: given.profile ?? null,
  };
};

const createFigures = (): Figures => ({
  node: { one: [], many: [] },
  bare: { one: [], many: [] },
  post: { one: [], many: [] },
  delaysMs: [],
  ackMs: { followed: [], others: [], bareFollowed: [], bareOthers: [] },
  bytesPerConnection: 0,
});

const measureAll = async (world: FeedWorld, options: FeedOptions): Promise<void> => {
  const { live } = world;
  for (let round = 1; round <= options.rounds; round++) {
    for (const shape of options.shapes) {
      live.show(`round ${round}: ${shape} …`);
      await measureNode(world, shape);
      await measureBare(world, shape);
    }
  }
};

/** Starts the node and measures until all is done, or the signal comes. */
const measureOneNode = async (
  options: FeedOptions,
  live: Live,
  { figures, stopped }: { readonly figures: Figures; readonly stopped: Promise<null> },
): Promise<void> => {
  const { connections, changes, seconds } = options;
  const directory = createDirectory({ bots: 2 * connections, users: 1 });
  const stores = await openStores('embedded', false);
  const folder = createFolder();
  const poster = createPoster();
  try {
    live.show('importing …');
    await importDirectory(folder, { directory, stores: stores.rollcall });
    const node = await startOn(folder, { profileDir: options.profileDir, stores: stores.rollcall });
    try {
      const parts = { connections, changes, seconds, live, directory, node, poster, figures };
      const world: FeedWorld = { ...parts, sessionsReadMs: 0 };
      await Promise.race([measureAll(world, options), stopped]);
    } finally {
      await node.stop();
    }
  } finally {
    live.clear();
    poster.close();
    await stores.close();
    folder.remove();
  }
};

/* ---------------------------------------------------------------------- report */

const describeShape = ({ node, bare, post }: Figures, shape: Shape): string => {
  const ratios = node[shape].map((value, index) => value / (bare[shape][index] ?? Number.NaN));
  const of = (values: readonly number[]): string => computeSpread(values).median.toFixed(2);
  const what = shape === 'one' ? 'all follow one bot' : 'each follows a bot of its own';
  return (
    `${what}: ${of(node[shape])} us per message, bare publish ${of(bare[shape])}, ratio ${of(ratios)}; ` +
    `a post ${of(post[shape])} us`
  );
};

const describeDelays = (delaysMs: readonly number[]): string =>
  `p50 ${percentile(delaysMs, 0.5).toFixed(1)} ms, p99 ${percentile(delaysMs, 0.99).toFixed(1)} ms`;

const describeAcks = ({ ackMs }: Figures): string => {
  const of = (name: keyof Figures['ackMs'], share: 'p50' | 'p99'): string =>
    computeSpread(ackMs[name].map((times) => times[share])).median.toFixed(2);
  const list = (share: 'p50' | 'p99'): string =>
    `${share} ${of('others', share)} ms without messages, ${of('followed', share)} while all get some ` +
    `(bare ${of('bareOthers', share)} and ${of('bareFollowed', share)})`;
  return `acknowledgement of a post: ${list('p50')}; ${list('p99')}`;
};

const describe = (options: FeedOptions, figures: Figures, elsewhere: Delays | null): string => {
  const lines = options.shapes
    .filter((shape) => figures.node[shape].length > 0)
    .map((shape) => describeShape(figures, shape));
  if (figures.ackMs.followed.length > 0)
    lines.push(
      `change acknowledged to its message: ${describeDelays(figures.delaysMs)}`,
      describeAcks(figures),
    );
  if (lines.length > 0)
    lines.push(`memory per idle connection: ${(figures.bytesPerConnection / 1_024).toFixed(1)} KB`);
  if (elsewhere !== null)
    lines.push(
      `change acknowledged on one node to its message on another: ${describeDelays(elsewhere.delaysMs)}; ` +
        `${elsewhere.delaysMs.length} of ${elsewhere.posts} posts shown`,
    );
  const { connections, rounds, seconds } = options;
  return [`${connections} followers, ${rounds} rounds, windows of ${seconds} s`, ...lines].join('\n');
};

/** Prints what was measured. Resolves to the exit code. */
const run = async (options: FeedOptions, context: CommandContext): Promise<number> => {
  const { live, stop, stopped, writeJson } = context;
  const figures = createFigures();
  let elsewhere: Delays | null = null;
  if (options.rounds > 0) await measureOneNode(options, live, { figures, stopped });
  if (options.twoNodesSeconds > 0 && !stop.aborted)
    elsewhere = await measureTwoNodes(options.twoNodesSeconds);
  if (!stop.aborted) console.log(describe(options, figures, elsewhere));
  writeJson({ ...figures, elsewhere });
  return stop.aborted ? interruptedCode : 0;
};

export const runFeed = defineCommand({ usage, options, parse, run });
