/**
 * Makes counters, gauges and histograms of one registry by name and help text. Used by the other files of
 * this folder.
 */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export const createInstruments = (registers: Registry[]) => ({
  createCounter: (name: string, help: string): Counter => new Counter({ name, help, registers }),
  /** Shows 0 for each known value of the label, so that an alert sees the first event as an increase. */
  createCounterBy: (labelName: string, values: readonly string[], about: { name: string; help: string }) => {
    const counter = new Counter({ ...about, labelNames: [labelName], registers });
    for (const value of values) counter.inc({ [labelName]: value }, 0);
    return counter;
  },
  createGauge: (name: string, help: string, labelNames: readonly string[] = []): Gauge =>
    new Gauge({ name, help, labelNames, registers }),
  createHistogram: (name: string, help: string, buckets: number[], labelNames: readonly string[] = []) =>
    new Histogram({ name, help, buckets, labelNames, registers }),
});

export type Instruments = ReturnType<typeof createInstruments>;
