/**
 * Decides which `Host` headers the private listener accepts. This stops DNS rebinding: an attacker's page
 * points its own host name at the listener's address, and the browser then treats the two as one origin.
 *
 * An IP address in `Host` cannot be rebound, so it is always accepted. Pure.
 */
import { isIP } from 'node:net';
import { DomainError } from '../../engine/errors.ts';

/** The host without its port, `''` when the text is not a valid `Host`. IPv6 addresses are in brackets. */
const hostWithoutPort = (host: string): string => /^(\[[^\]]*\]|[^:[\]]*)(?::[0-9]*)?$/.exec(host)?.[1] ?? '';

/** Host names are compared without regard to case and to the trailing dot of the root. */
const normaliseName = (name: string): string => name.toLowerCase().replace(/\.$/, '');

const isAddress = (host: string): boolean =>
  host.startsWith('[') ? isIP(host.slice(1, -1)) === 6 : isIP(host) === 4;

/** Throws `host_not_allowed` unless `Host` is an IP address, `localhost` or one of `names`, at any port. */
export const createHostScreen = (names: readonly string[]): ((host: string) => void) => {
  const allowed = new Set(['localhost', ...names.map(normaliseName)]);
  return (host) => {
    const name = hostWithoutPort(host);
    if (isAddress(name) || allowed.has(normaliseName(name))) return;
    throw new DomainError(
      'host_not_allowed',
      'Address this listener by an IP address, by localhost, or by a name listed in ADMIN_HOSTS.',
    );
  };
};
