/**
 * `rollcall version`: prints the version, the commit, and the Node that this runs on.
 */
import { formatVersion, readVersion } from '../version.ts';

process.stdout.write(`rollcall ${formatVersion(readVersion())}, Node ${process.version}\n`);
