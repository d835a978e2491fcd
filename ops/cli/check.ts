/**
 * `rollcall check`: says whether a node would accept the settings of the environment, and starts nothing.
 *
 * Prints all mistakes to standard error and ends with 1, or a summary without secrets and ends with 0.
 * Opens no store and no port: whether the servers answer shows at the start. The console, unlike the streams,
 * does not fail when its reader has left (`| true`).
 */
import { describeStores, toAddresses } from '../config/addresses.ts';
import { type Config, ConfigError, findMisspeltSettings, readConfig } from '../config/config.ts';

const formatSummary = (config: Config): string => {
  const { url, adminUrl } = toAddresses(config, config.port, config.adminPort);
  const rows = [
    ['Public', url],
    ['Operator', adminUrl],
    ...describeStores(config, []).filter(([name]) => name !== 'Other nodes'),
    ['Workers', String(config.workers)],
  ];
  const lines = rows.map(([name = '', value]) => `  ${name.padEnd(9)} ${value}`);
  return ['The settings are valid; no store was opened.', ...lines].join('\n');
};

for (const note of findMisspeltSettings()) console.error(note);
try {
  console.log(formatSummary(readConfig()));
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
