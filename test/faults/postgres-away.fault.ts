/**
 * Postgres stopped `immediate` 20 times under the load of two nodes, away for 100 s, locked, slow,
 * and without room. Time limit: 900 s.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import { awayAndDeaf } from './deaf.ts';
import { printFigures } from './figures.ts';
import { canMount } from './full.ts';
import { seed } from './plans.ts';
import {
  awayFor,
  locked,
  onSmallDisk,
  runPostgresFaults,
  slow,
  stopped,
  withoutRoomOn,
} from './postgres-away.ts';

const test = suite('postgres away, again and again');

test('stopped immediate 20 times under load: nothing is lost or doubled', async () => {
  const stops = Array.from({ length: 20 }, () => stopped);
  printFigures(`Postgres stopped immediate (seed ${seed})`, await runPostgresFaults({ seed }, stops));
});

test('away for 100 s, longer than tokens are cached: counting goes on, all is flushed after', async () => {
  const figures = await runPostgresFaults({ seed }, [awayFor(100_000)]);
  printFigures(`Postgres away for 100 s (seed ${seed})`, figures);
});

test('away for 70 s, without signals for 2 s: tokens in use go on, a revoked one does not', async () => {
  const figures = await runPostgresFaults({ seed }, [awayAndDeaf(70_000)]);
  printFigures(`Postgres away for 70 s, deaf for 2 s (seed ${seed})`, figures);
});

test('locked and slow, three times each: counting goes on, all is flushed after', async () => {
  const faults = [locked, slow, locked, slow, locked, slow];
  printFigures(`Postgres locked and slow (seed ${seed})`, await runPostgresFaults({ seed }, faults));
});

test('without room: counting goes on, all is flushed once there is some', async () => {
  const disk = mkdtempSync(join(tmpdir(), 'rollcall-small-'));
  try {
    if (!canMount(disk)) {
      console.log('\nfigures: Postgres without room | left out: no right to mount a small disk');
      return;
    }
    const figures = await onSmallDisk(disk, () =>
      runPostgresFaults({ seed, parent: disk }, [withoutRoomOn(disk)]),
    );
    printFigures(`Postgres without room (seed ${seed})`, figures);
  } finally {
    rmSync(disk, { recursive: true, force: true });
  }
});

test.run();
