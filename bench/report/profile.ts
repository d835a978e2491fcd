/**
 * The most expensive functions of a CPU profile that `--profile` wrote: self time, by function and file.
 *
 * One profile per thread; the event loop's is the one with the most of our own code. Idle time is left out.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
}
interface Profile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

export interface Cost {
  readonly name: string;
  readonly microseconds: number;
  /** Share of all time that was not idle. */
  readonly share: number;
}

const idle = new Set(['(idle)', '(root)']);

const toLocation = ({ functionName, url, lineNumber }: ProfileNode['callFrame']): string => {
  const file = url.split(/\/(?:main|rollcall)\//).at(-1) ?? '';
  const name = functionName === '' ? '(anonymous)' : functionName;
  return file === '' ? name : `${name}  ${file}:${lineNumber + 1}`;
};

/** Self times of one profile, most expensive first. */
export const computeCosts = (profile: Profile): Cost[] => {
  const places = new Map(profile.nodes.map(({ id, callFrame }) => [id, toLocation(callFrame)]));
  const times = new Map<string, number>();
  for (const [index, id] of profile.samples.entries()) {
    const place = places.get(id) ?? '(unknown)';
    if (idle.has(place)) continue;
    times.set(place, (times.get(place) ?? 0) + (profile.timeDeltas[index] ?? 0));
  }
  const total = [...times.values()].reduce((sum, time) => sum + time, 0);
  return [...times]
    .map(([name, microseconds]) => ({ name, microseconds, share: microseconds / total }))
    .sort((a, b) => b.microseconds - a.microseconds);
};

/** The newest profile of the event loop's thread in `folder`; its name contains thread 0. */
export const describeProfile = (folder: string, linesMax: number): string => {
  const file = readdirSync(folder)
    .filter((name) => /\.0\.\d+\.cpuprofile$/.test(name))
    .sort()
    .at(-1);
  if (file === undefined) return `no CPU profile in ${folder}`;
  const costs = computeCosts(JSON.parse(readFileSync(join(folder, file), 'utf8')) as Profile);
  const rows = costs
    .slice(0, linesMax)
    .map(({ name, share }) => `${(share * 100).toFixed(1).padStart(5)} %  ${name}`);
  return [`Self time of the event loop's thread (${join(folder, file)}):`, ...rows].join('\n');
};
