/**
 * Chooses the load generator: wrk where it is installed, else autocannon.
 *
 * A generator in C needs a fraction of the CPU, so that the server is the bottleneck. Our own generators do
 * what wrk cannot: a rate (`--rate`) and a new connection for each request (`churn`).
 */
import { findScenario } from '../scenarios/all.ts';
import type { Directory } from '../scenarios/directory.ts';
import { openAutocannon } from './autocannon.ts';
import type { Load } from './order.ts';
import { isWrkInstalled, openWrk } from './wrk.ts';

export type LoadName = 'auto' | 'autocannon' | 'wrk';

/** `auto` is what this machine has; a rate needs autocannon. Throws what to install when wrk is missing. */
export const openLoad = (wanted: LoadName, rate: number, directory: Directory): Load => {
  if (wanted === 'autocannon' || rate > 0 || (wanted === 'auto' && !isWrkInstalled())) {
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
      (findScenario(order.scenario).reconnects ? reconnecting() : wrk).measure(order, watch),
    close: async () => {
      await Promise.all([wrk.close(), ours?.close()]);
    },
  };
};
