/**
 * A Postgres with some thousand listings, the instants at which they were sampled, and nodes that run jobs of
 * the history as processes of their own.
 */
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import * as assert from 'uvu/assert';
import { createRandom, type Random } from '../../../bench/shared/random.ts';
import type { OutboxVote } from '../../../engine/ports.ts';
import { createHistoryPartition } from '../../../storage/history/partitions.ts';
import { takeSample } from '../../../storage/history/sample.ts';
import { createLedger } from '../../../storage/ledger/ledger.ts';
import { connectSql, type Sql } from '../../../storage/sql/client.ts';
import { migrate } from '../../../storage/sql/migrate.ts';
import { dirty, vote } from '../../storage/ledger/world.ts';
import type { PostgresServer } from '../../support/postgres-server.ts';
import { refOf } from '../../support/refs.ts';

export const stepMinutes = 5;
/** A sample of them takes three steps or more. */
const listings = 3_500;

export interface Values {
  readonly clicks: number;
  readonly servers: number;
}

export interface HistoryWorld {
  readonly server: PostgresServer;
  readonly url: string;
  /** The test's own connection. */
  readonly sql: Sql;
  readonly random: Random;
  /** What each listing had at each instant that was sampled, ascending. */
  readonly seen: Map<number, ReadonlyMap<number, Values>>;
  nextAt: number;
  close(): Promise<void>;
}

export const openHistoryWorld = async (
  server: PostgresServer,
  { seed, from }: { readonly seed: number; readonly from: number },
): Promise<HistoryWorld> => {
  const url = await server.database('history');
  const sql = connectSql(url, { connectionsMax: 2, statementTimeoutMs: 60_000 });
  await migrate(sql);
  await addListings(sql, listings);
  const random = createRandom(seed);
  return { server, url, sql, random, seen: new Map(), nextAt: from, close: () => sql.end() };
};

const addListings = async (sql: Sql, count: number): Promise<void> => {
  await sql`
    insert into totals (incarnation, kind, entity_id, shard)
    select incarnation, 'bot', 'bot' || incarnation, incarnation % 128 from (
      select nextval('incarnations') as incarnation from generate_series(1, ${count}::int)) as new`;
};

/* ----------------------------------------------------------------- nodes */

const program = fileURLToPath(new URL('./history-job-main.ts', import.meta.url));

interface Run {
  readonly job: 'history' | 'vote_months';
  readonly dueAtMs: number;
  /** The begin or end of a step at which the node dies; 0: none. */
  readonly dieAt?: number;
}
type Outcome = 'done' | 'not run' | 'failed' | 'killed';

interface StartedRun {
  /** Resolves when the node is connected, or has ended. */
  readonly opened: Promise<unknown>;
  readonly ended: Promise<Outcome>;
  kill(): void;
}

let names = 0;

/** Starts a node that runs the job. */
export const runNode = ({ url }: HistoryWorld, { job, dueAtMs, dieAt = 0 }: Run): StartedRun => {
  names += 1;
  const child = spawn(process.execPath, [...process.execArgv, program], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: {
      ...process.env,
      DATABASE_URL: url,
      NODE: `node${names}`,
      JOB: job,
      DUE_MS: String(dueAtMs),
      DIE_AT: String(dieAt),
    },
  });
  let text = '';
  const ended = new Promise<Outcome>((resolve) => {
    child.once('close', (code, signal) => {
      if (signal !== null) resolve('killed');
      else if (code !== 0) resolve('failed');
      else resolve(text.endsWith('done\n') ? 'done' : 'not run');
    });
  });
  const opened = new Promise<void>((resolve) => {
    child.stdout.on('data', (chunk) => {
      text += chunk;
      resolve();
    });
  });
  return { opened: Promise.race([opened, ended]), ended, kill: () => void child.kill('SIGKILL') };
};

/** A run that dies at a step's begin or end, or at any time. Resolves to 1 if it died, 0 if it was done. */
export const dieWhile = async (world: HistoryWorld, run: Run): Promise<number> => {
  const { random } = world;
  const atStep = random.chance(0.6);
  const node = runNode(world, { ...run, dieAt: atStep ? random.integer(1, 12) : 0 });
  await node.opened;
  if (!atStep) {
    await sleep(random.integer(0, 60));
    node.kill();
  }
  const outcome = await node.ended;
  await endLeases(world);
  return outcome === 'killed' ? 1 : 0;
};

/** As after a minute without the dead node. */
const endLeases = async ({ sql }: HistoryWorld): Promise<void> => {
  await sql`update job_runs set lease_until = now() - interval '1 second' where finished_at is null`;
};

/* -------------------------------------------------------------- instants */

/** Changes a third of the listings; a tenth of those only in what may fall again. */
const changeTotals = async ({ sql, random }: HistoryWorld): Promise<void> => {
  const [third, step] = [random.below(3), random.integer(1, 9)];
  await sql`
    update totals set clicks = clicks + case when incarnation % 10 = 0 then 0 else ${step}::int end,
      servers = (incarnation + ${step}::int) % 7
    where (incarnation / 7) % 3 = ${third}::int`;
};

const readValues = async ({ sql }: HistoryWorld): Promise<ReadonlyMap<number, Values>> => {
  const rows = await sql<{ incarnation: number; clicks: number; servers: number }[]>`
    select incarnation, clicks, servers::int as servers from totals`;
  return new Map(rows.map(({ incarnation, clicks, servers }) => [incarnation, { clicks, servers }]));
};

/** The next instant, as due time; no node runs it to its end. */
export const skipInstant = (world: HistoryWorld): number => {
  const dueAtMs = world.nextAt * 60_000;
  world.nextAt += stepMinutes;
  return dueAtMs;
};

/** Changes totals; the next instant shall have them. */
export const beginInstant = async (world: HistoryWorld): Promise<Run> => {
  await changeTotals(world);
  world.seen.set(world.nextAt, await readValues(world));
  return { job: 'history', dueAtMs: skipInstant(world) };
};

/** So many nodes die while they sample the next instant. Resolves to the number that was killed. */
export const runInstant = async (world: HistoryWorld, deaths = 0): Promise<number> => {
  const run = await beginInstant(world);
  let kills = 0;
  for (let death = 0; death < deaths; death++) kills += await dieWhile(world, run);
  await finishInstant(world, run);
  return kills;
};

/** Two nodes at once run it. */
export const finishInstant = async (world: HistoryWorld, run: Run): Promise<void> => {
  // The last statement of a dead node may disturb the first attempt, which a real node repeats after a pause.
  for (let attempt = 0; attempt < 3; attempt++) {
    await endLeases(world);
    const nodes = [runNode(world, run), runNode(world, run)];
    await Promise.all(nodes.map(({ ended }) => ended));
    const [row] = await world.sql<{ finished: boolean }[]>`
      select finished_at is not null as finished from job_runs
      where name = 'history' and due_at = ${new Date(run.dueAtMs)}`;
    if (row?.finished) return;
  }
  throw new Error('no node finished the instant');
};

/* ----------------------------------------------------------------- votes */

const targets = 2_500;
let votesCast = 0;

/** Votes around the end of March, for most of the listings; some of the same user. */
export const castVotes = async (world: HistoryWorld, later = 0) => {
  const { sql, random } = world;
  const rows = await sql<{ incarnation: number; entity_id: string }[]>`
    select incarnation, entity_id from totals order by incarnation limit ${targets}`;
  const refs = rows.map(({ incarnation, entity_id }) => refOf('bot', entity_id, incarnation));
  const votes: readonly OutboxVote[] = Array.from({ length: later || 6_000 }, () =>
    vote(random.pick(refs), ++votesCast, {
      user: `user${random.below(50)}`,
      upvote: random.chance(0.8),
      atMs: Date.UTC(2026, 2, 20) + random.below(13 * 86_400_000),
    }),
  );
  const flush = async (): Promise<void> => {
    const ledger = createLedger(sql);
    for (let from = 0; from < votes.length; from += 1_000)
      await ledger.flush({ entities: [], votes: votes.slice(from, from + 1_000) });
  };
  if (later === 0) await flush();
  return { votes, flush };
};

/* --------------------------------------------------------- what it costs */

interface Delays {
  readonly flushMsP99: number;
  readonly readMsP99: number;
}

const computeP99 = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length * 0.99)] ?? 0;

const flushRows = 200;
const measureMs = 4_000;

/** Flush rounds and reads, one after the other, until `isOver`. */
const measureDelays = async (sql: Sql, count: number, isOver: () => boolean): Promise<Delays> => {
  const ledger = createLedger(sql);
  const [flushes, reads]: [number[], number[]] = [[], []];
  for (let round = 1; !isOver(); round++) {
    const entities = Array.from({ length: flushRows }, (_, index) => {
      const incarnation = 1 + ((round * 7_919 + index * 97) % count);
      const ref = refOf('bot', `bot${incarnation}`, incarnation);
      return dirty(ref, 2, { version: Math.floor(performance.now() * 1_000), clicks: round });
    });
    const startedMs = performance.now();
    await ledger.flush({ entities, votes: [] });
    const flushedMs = performance.now();
    await sql`select * from totals where incarnation = ${1 + ((round * 104_729) % count)}`;
    flushes.push(flushedMs - startedMs);
    reads.push(performance.now() - flushedMs);
  }
  return { flushMsP99: computeP99(flushes), readMsP99: computeP99(reads) };
};

/** Flush rounds and reads of a node, alone and while it samples this many listings again and again. */
export const measureFlushBeside = async ({ url, sql, nextAt }: HistoryWorld, count: number) => {
  await addListings(sql, count - listings);
  await sql`vacuum analyze totals`;
  await createHistoryPartition(sql, 'fine', nextAt);
  const pool = connectSql(url, { connectionsMax: 4 });
  const options = { monotonicMs: () => performance.now(), signal: new AbortController().signal };
  const sample = (at: number): Promise<number> => takeSample(pool, { at, writesFine: true }, options);
  try {
    await sample(nextAt);
    const endMs = performance.now() + measureMs;
    const alone = await measureDelays(pool, count, () => performance.now() > endMs);
    let samples = 0;
    let isOver = false;
    const measured = measureDelays(pool, count, () => isOver);
    for (const endBesideMs = performance.now() + measureMs; performance.now() < endBesideMs; samples++) {
      await sql`update totals set invite_clicks = invite_clicks + 1 where incarnation % 10 = ${samples % 10}`;
      assert.ok((await sample(nextAt + 1 + samples)) >= count / 10);
    }
    isOver = true;
    return { alone, beside: await measured, samples };
  } finally {
    await pool.end();
  }
};
