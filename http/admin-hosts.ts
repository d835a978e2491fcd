/**
 * Which `Host` the private listener answers: against DNS rebinding, by which a page makes a name of its own
 * stand for the listener's address and then counts as the listener's own page to the browser.
 *
 * An IP address in `Host` is never such a name. Pure. Used by admin.ts.
 */
import { isIP } from 'node:net';
import { DomainError } from '../engine/errors.ts';

/** The host without its port; `''` when the text is no `Host`. An IPv6 address stands in brackets. */
const hostWithoutPort = (host: string): string => /^(\[[^\]]*\]|[^:[\]]*)(?::[0-9]*)?$/.exec(host)?.[1] ?? '';

/** Names are the same in upper and lower case, and with the dot of the root behind them. */
const foldName = (name: string): string => name.toLowerCase().replace(/\.$/, '');

const isAddress = (host: string): boolean =>
  host.startsWith('[') ? isIP(host.slice(1, -1)) === 6 : isIP(host) === 4;

/** Throws `host_not_allowed` unless `Host` is an IP address, `localhost` or one of `names`, at any port. */
export const createHostScreen = (names: readonly string[]): ((host: string) => void) => {
  const allowed = new Set(['localhost', ...names.map(foldName)]);
  return (host) => {
    const name = hostWithoutPort(host);
    if (isAddress(name) || allowed.has(foldName(name))) return;
    throw new DomainError(
      'host_not_allowed',
      'Ask this listener by an IP address, by localhost, or by a name that ADMIN_HOSTS lists.',
    );
  };
};
