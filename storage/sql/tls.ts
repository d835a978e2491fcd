/**
 * TLS to Postgres, as the parameters of an address ask for it. Their names and meanings are those of libpq,
 * whose programs read the same address.
 *
 * The driver (3.4.9) sends the names of files to the server instead of reading them, and ignores a file of
 * authorities beside `sslmode=require`. A parameter that is not honoured is refused: no connection is weaker
 * than its address asks.
 */
import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';

const weakModes = ['disable', 'allow', 'prefer'];
const modes = [...weakModes, 'require', 'verify-ca', 'verify-full'];
/** Parameters that only work on a connection that is never without TLS. */
const details = ['sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation'];
/** Parameters that ask for security. */
const securing = /^(ssl|channel_binding$|gssencmode$|require)/i;

/** Parameters that the environment may have in place of an address, as PGSSLMODE and so on. */
export const tlsParameters: readonly string[] = ['sslmode', ...details];

const splitParameters = (address: string) => {
  const [place = '', ...query] = address.split('?');
  return { place, parameters: Object.fromEntries(new URLSearchParams(query.join('?'))) };
};

/** Explains which parameter cannot be honoured, and what to write instead; `null` if there is none. */
export const findTlsMistake = (address: string): string | null => {
  const { parameters } = splitParameters(address);
  const { sslmode = 'disable', sslrootcert } = parameters;
  const names = Object.keys(parameters);
  const unknown = names.find((name) => securing.test(name) && !tlsParameters.includes(name));
  if (unknown !== undefined)
    return `${unknown} is not supported: remove it. See "TLS to the stores" in docs/operating.md`;
  if (!modes.includes(sslmode)) return `sslmode must be one of ${modes.join(', ')}`;
  const detail = names.find((name) => details.includes(name));
  if (detail !== undefined && weakModes.includes(sslmode))
    return (
      `${detail} (or PG${detail.toUpperCase()}) needs sslmode=verify-full beside it ` +
      '(or verify-ca, or require)'
    );
  if (sslrootcert === 'system' && sslmode !== 'verify-full')
    return 'sslrootcert=system needs sslmode=verify-full beside it';
  return null;
};

/** In a list, so that a file without a certificate trusts none, instead of all that Node knows. */
const readCertificates = (file: string | undefined): string[] | undefined =>
  file === undefined ? undefined : [readFileSync(file, 'utf8')];

/** What the driver takes as `ssl`. */
export type DriverTls = ConnectionOptions | 'prefer' | false;

/**
 * Takes the parameters out of an address, for the driver. `tls` is undefined when it has none. Throws if a
 * file cannot be read.
 */
export const readTls = (address: string): { readonly url: string; readonly tls?: DriverTls } => {
  const mistake = findTlsMistake(address);
  if (mistake !== null) throw new Error(mistake);
  const { place, parameters } = splitParameters(address);
  const { sslmode, sslrootcert, sslcert, sslkey, ...others } = parameters;
  if (sslmode === undefined) return { url: address };
  const url = `${place}?${new URLSearchParams(others)}`;
  if (sslmode === 'disable') return { url, tls: false };
  if (weakModes.includes(sslmode)) return { url, tls: 'prefer' };
  // As libpq does: beside a file of authorities `require` means `verify-ca`.
  const hasAuthority = sslrootcert !== undefined;
  const isAnyName = hasAuthority && sslmode !== 'verify-full';
  const tls = {
    ca: readCertificates(sslrootcert === 'system' ? undefined : sslrootcert),
    cert: readCertificates(sslcert),
    key: readCertificates(sslkey),
    rejectUnauthorized: hasAuthority || sslmode !== 'require',
    ...(isAnyName && { checkServerIdentity: () => undefined }),
  };
  return { url, tls };
};
