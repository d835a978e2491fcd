/**
 * Hostile clients by the thousand against a real node: endless bodies, idle connections, churn, clients that
 * leave, and a list of all voters of a bot (slow ones and floods are in http-attacks.fault.ts). Figures are
 * memory of the whole process, the embedded SQL included. VOTERS changes the sizes.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeFolder } from '../../support/folder.ts';
import { printFigures } from '../harness/figures.ts';
import { askOnce, openSocket, pour, startVictim, type Victim } from './http-hostile-clients.ts';

const test = suite('hostile');
const voters = Number(process.env.VOTERS ?? 100_000);
const idleOnes = 10_000;
const churned = 20_000;
let victim: Victim;

test.before(async () => {
  victim = await startVictim(makeFolder('rollcall-hostile-'), voters);
});
test.after(async () => {
  await victim.node.stop();
});

const mebi = (bytes: number): string => (bytes / 2 ** 20).toFixed(0);
/** Runs `work` and prints its figures beside the memory before, at most and after. */
const measured = async (what: string, work: () => Promise<readonly string[]>): Promise<number> => {
  const before = victim.memory();
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, victim.memory());
  }, 50);
  const startedMs = performance.now();
  const figures = await work();
  clearInterval(timer);
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
  const [began, peak, ended] = [before, most, victim.memory()].map((each) => each.toFixed(0));
  const memory = `${began}, at most ${peak}, then ${ended} MiB`;
  printFigures(what, { figures, seconds: Number(seconds), memory });
  await victim.answers();
  return most - before;
};

test('all voters of a bot are streamed, and memory does not grow with them', async () => {
  const bytes = await askOnce(victim.port, victim.allVoters);
  const grown = await measured('all voters at once', async () => {
    const all = await askOnce(victim.port, victim.allVoters);
    return [`voters ${voters}`, `${mebi(all)} MiB`];
  });

  assert.ok(bytes > voters * 10, String(bytes));
  assert.ok(grown < 64, `${grown} MiB`);
});

test('a body of 1 GiB, said or not, is refused at the cap', async () => {
  const piece = 'x'.repeat(65_536);
  for (const [what, framing, part] of [
    ['1 GiB by its length', 'Content-Length: 1073741824', piece],
    ['chunks without an end', 'Transfer-Encoding: chunked', `10000\r\n${piece}\r\n`],
  ] as const) {
    const grown = await measured(what, async () => {
      const socket = await openSocket(victim.port);
      socket.write(`POST /auth/test HTTP/1.1\r\nHost: a\r\n${framing}\r\n\r\n`);
      const written = await pour(socket, part, 2 ** 30);
      assert.ok(written < 2 ** 28, `${written} bytes were taken`);
      return [`taken before the end ${mebi(written)} MiB`];
    });
    assert.ok(grown < 32, `${grown} MiB`);
  }
});

test('idle connections cost little and are closed', async () => {
  const files = victim.files();
  await measured('idle connections', async () => {
    const sockets = [];
    for (let opened = 0; opened < idleOnes; opened += 500) {
      sockets.push(...(await Promise.all(Array.from({ length: 500 }, () => openSocket(victim.port)))));
    }
    const open = victim.files() - files;
    await victim.answers();
    for (let look = 0; victim.files() > files + 100 && look < 600; look++) await sleep(100);
    const left = victim.files() - files;
    for (const socket of sockets) socket.destroy();
    assert.ok(left <= 100, `${left} are open`);
    return [`connections ${idleOnes}`, `open at once ${open}`];
  });
});

test('connections that come and go leave nothing behind', async () => {
  const files = victim.files();
  await measured('churn', async () => {
    let answered = 0;
    const worker = async (): Promise<void> => {
      for (let round = 0; round < churned / 50; round++) {
        if ((await askOnce(victim.port, '/votes/credit-tiers')) > 0) answered += 1;
      }
    };
    await Promise.all(Array.from({ length: 50 }, worker));
    assert.is(answered, churned);
    return [`connections ${churned}`];
  });

  assert.ok(victim.files() <= files + 50, `${victim.files()} files, ${files} before`);
});

test('clients that leave in the middle of an answer leave nothing behind', async () => {
  const files = victim.files();
  await measured('clients that leave', async () => {
    for (let round = 0; round < 10; round++) {
      await Promise.all(
        Array.from({ length: 50 }, (_, index) => askOnce(victim.port, victim.allVoters, 1 + index * 2_000)),
      );
    }
    for (let look = 0; victim.files() > files + 10 && look < 100; look++) await sleep(100);
    return ['clients 500'];
  });

  assert.ok(victim.files() <= files + 50, `${victim.files()} files, ${files} before`);
});

test('the process is the same, and its log has no line of all this', async () => {
  await victim.answers();
  assert.not.match(victim.node.output(), /Z (error|fatal) |rc_(user|bot)_/);
});

test.run();
