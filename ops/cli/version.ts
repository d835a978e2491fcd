/**
 * `rollcall version`: prints the version, the commit, and the Node that this runs on.
 */
import { formatVersion, readVersion } from '../version.ts';

// A write to the stream would fail when its reader has left (`| true`).
console.log(`rollcall ${formatVersion(readVersion())}, Node ${process.version}`);
