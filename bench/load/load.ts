/**
 * The load generators behind one door: wrk where it is installed, else autocannon.
 *
 * A generator in C needs a fraction of the CPU, so that it is not what is measured. What wrk does not do
 * is done by ours: a rate (`--rate`) and a new connection for each request (`churn`). Called by whoever
 * measures.
 */
import { scenarioOf } from '../scenarios/all.ts';
import type { Directory } from '../servers/directory.ts';
import { openAutocannon } from './autocannon.ts';
import type { Load } from './order.ts';
import { openWrk, wrkIsThere } from './wrk.ts';

export type LoadName = 'auto' | 'autocannon' | 'wrk';

/** `auto` is what this machine has; a rate needs autocannon. Throws in words when wrk is not there. */
export const openLoad = (wanted: LoadName, rate: number, directory: Directory): Load => {
  if (wanted === 'autocannon' || rate > 0 || (wanted === 'auto' && !wrkIsThere())) {
    return openAutocannon(directory);
  }
  const wrk = openWrk(directory);
  let ours: Load | null = null;
  const reconnecting = (): Load => {
    ours ??= openAutocannon(directory);
    return ours;
  };
  return {
    name: 'wrk',
    measure: (order, watch) =>
      (scenarioOf(order.scenario).reconnects ? reconnecting() : wrk).measure(order, watch),
    close: async () => {
      await Promise.all([wrk.close(), ours?.close()]);
    },
  };
};
