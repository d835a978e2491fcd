/**
 * Network namespaces for tests of partitions: a program in a network of its own, and in that one an island,
 * a second network, joined to it by two cables.
 *
 * The first cable is what a test cuts: packets are dropped silently, in one direction or both. The second
 * stays. Everything is gone with the processes that live there; the machine's own network is never touched.
 * Needs Linux, root, `ip`, `iptables`, `unshare` and `nsenter`; a network without a route needs only `ip`,
 * `mount` and `unshare`.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { watchChild } from './child.ts';

const allows = (commands: readonly string[]): boolean =>
  spawnSync('unshare', ['--net', 'sh', '-c', commands.join(' && ')], { stdio: 'ignore' }).status === 0;

const joining = ['ip link set lo up', 'ip link add cable type veth peer name cable-end'];

/** Whether this system lets us make an island, whose cable is never cut. */
export const canJoin = (): boolean => allows(joining);

/** Whether this system lets us do all that. */
export const canPartition = (): boolean => allows([...joining, 'iptables -w -A INPUT -i cable -j DROP']);

/**
 * Runs one of our programs in its own network until it ends. Resolves to its standard output; rejects with
 * all that it wrote if it fails.
 */
export const runApart = (program: string, words: readonly string[]): Promise<string> =>
  runThrough(['unshare', '--net'], [program, ...words]);

/** A command prefix: a network that has only loopback, and names of the test's own. Needs no root. */
const buildUnroutedPrefix = (hostsFile: string): readonly string[] => {
  const owner = process.getuid?.() === 0 ? [] : ['--user', '--map-current-user', '--keep-caps'];
  const script = 'ip link set lo up && mount --bind "$0" /etc/hosts && exec "$@"';
  return ['unshare', ...owner, '--net', '--mount', 'sh', '-c', script, hostsFile];
};

/** Whether this system lets us make such a network. */
export const canUnroute = (hostsFile: string): boolean => {
  const [command = '', ...words] = [...buildUnroutedPrefix(hostsFile), 'true'];
  return spawnSync(command, words, { stdio: 'ignore' }).status === 0;
};

/** Runs a program where no route leads anywhere and `hostsFile` has all names there are. */
export const runUnrouted = (program: string, hostsFile: string): Promise<string> =>
  runThrough(buildUnroutedPrefix(hostsFile), [program]);

const runThrough = async (through: readonly string[], args: readonly string[]): Promise<string> => {
  const [command = '', ...words] = [...through, process.execPath, ...process.execArgv, ...args];
  const child = spawn(command, words, { stdio: ['ignore', 'pipe', 'pipe'] });
  const { code, out, output } = await watchChild(child).ended;
  if (code !== 0) throw new Error(`${args[0]} ended with ${code ?? child.signalCode}:\n${output}`);
  return out;
};

export interface Island {
  /** Addresses on the cable that can be cut: here, and on the island. */
  readonly here: string;
  readonly there: string;
  /** The same on the cable that stays. */
  readonly safeHere: string;
  readonly safeThere: string;
  /** Prefix of a command that makes it run on the island. */
  readonly through: readonly string[];
  /** Drops what comes to the island, what leaves it, or both. */
  cut(directions: readonly ('in' | 'out')[]): void;
  heal(): void;
  dispose(): void;
}

const run = (command: string, words: readonly string[]): void => {
  execFileSync(command, words, { stdio: 'pipe' });
};

/** Makes the island. Only inside of `runApart`. */
export const raiseIsland = async (): Promise<Island> => {
  run('ip', ['link', 'set', 'lo', 'up']);
  const keeper = spawn('unshare', ['--net', 'sh', '-c', 'ip link set lo up; echo ready; exec cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await once(keeper.stdout, 'data');
  const through = ['nsenter', '--net', `--target=${keeper.pid}`];
  const inside = (...words: string[]): void => run('nsenter', [...through.slice(1), ...words]);
  for (const [name, network] of [
    ['cable', '10.78.1'],
    ['safe', '10.78.2'],
  ] as const) {
    run('ip', ['link', 'add', name, 'type', 'veth', 'peer', 'name', `${name}-end`]);
    run('ip', ['link', 'set', `${name}-end`, 'netns', String(keeper.pid)]);
    run('ip', ['address', 'add', `${network}.1/24`, 'dev', name]);
    run('ip', ['link', 'set', name, 'up']);
    inside('ip', 'address', 'add', `${network}.2/24`, 'dev', `${name}-end`);
    inside('ip', 'link', 'set', `${name}-end`, 'up');
  }
  const chains = { in: ['INPUT', '-i'], out: ['OUTPUT', '-o'] } as const;
  return {
    here: '10.78.1.1',
    there: '10.78.1.2',
    safeHere: '10.78.2.1',
    safeThere: '10.78.2.2',
    through,
    cut: (directions) => {
      for (const direction of directions)
        inside('iptables', '-w', '-A', ...chains[direction], 'cable-end', '-j', 'DROP');
    },
    heal: () => inside('iptables', '-w', '-F'),
    dispose: () => {
      keeper.kill('SIGKILL');
    },
  };
};
