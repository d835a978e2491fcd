/**
 * Cuts the power of a simulated disk at places of a record (cut-disk.ts): right before a sync, right after
 * one, and between any two changes, from the whole record in equal parts.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '../../bench/shared/random.ts';
import { createCutDisk } from './cut-disk.ts';
import { readRecord } from './disk-record.ts';
import { makeFolder } from './folder.ts';

export interface Recording {
  /** The folder as it was, synced, when the record began. */
  readonly base: string;
  readonly live: string;
  readonly record: string;
}
export interface PowerCut {
  /** The folder as the cut leaves it. */
  readonly folder: string;
  /** What was answered until then was answered before the cut; on the clock of `nowMs`. */
  readonly cutMs: number;
  /** Between which two changes. */
  readonly place: string;
}

/** How much is there of what was not synced. */
const shares = [0, 0.5, 1];

const drawPlaces = (record: string, random: Random, count: number): number[] => {
  const syncs: number[] = [];
  let entries = 0;
  for (const { kind } of readRecord(record)) {
    if (kind === 'sync') syncs.push(entries);
    entries += 1;
  }
  const drawOne = (_: unknown, cut: number): number => {
    const from = (cut + random.next()) / count;
    const sync = syncs[Math.floor(from * syncs.length)] ?? 0;
    return [sync, sync + 1, Math.floor(from * entries)][cut % 3] ?? 0;
  };
  return Array.from({ length: count }, drawOne).sort((one, other) => one - other);
};

/**
 * Judges the folder after each of `count` cuts. Throws where the record is not all that happened. Resolves to
 * the files that were mapped for writing.
 */
export const cutPower = async (
  { base, live, record }: Recording,
  { random, count }: { readonly random: Random; readonly count: number },
  judge: (cut: PowerCut) => Promise<void>,
): Promise<readonly string[]> => {
  const places = drawPlaces(record, random, count);
  const disk = createCutDisk(base, live);
  let last = 'the start';
  for (const entry of readRecord(record)) {
    const next = `${entry.index} (${entry.kind} ${entry.path.slice(live.length)})`;
    for (; places[0] === entry.index; places.shift()) {
      const folder = join(makeFolder('rollcall-cut-'), 'data');
      disk.writeInto(folder, random.pick(shares), random);
      await judge({ folder, cutMs: entry.doneMs, place: `between ${last} and ${next}` });
      rmSync(folder, { recursive: true });
    }
    disk.apply(entry);
    last = next;
  }
  const different = disk.findDifferences(live);
  if (different.length > 0) throw new Error(`the record differs from the disk: ${different.join(', ')}`);
  return [...disk.mapped];
};
