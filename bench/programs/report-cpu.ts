/**
 * Preloaded into a measured server where there is no /proc: answers its parent with the CPU time it has used.
 *
 * Does not keep the process alive and does nothing on its own. Loaded by servers/process.ts.
 */
process.on('message', (word) => {
  if (word === 'cpu') process.send?.({ cpu: process.cpuUsage() });
});
process.channel?.unref();
