/**
 * TLS to Postgres, as the parameters of an address request it. Their names and meanings are those of libpq,
 * whose programs read the same address.
 *
 * The driver (3.4.9) sends the names of files to the server instead of reading them, and ignores a file of
 * authorities beside `sslmode=require`. A parameter that is not honoured is refused: no connection is weaker
 * than its address requests.
 */
import { readFileSync } from 'node:fs';
import { type ConnectionOptions, createSecureContext } from 'node:tls';
import { toError } from '../../engine/errors.ts';
import { listIpAddresses } from './address.ts';

const weakModes = ['disable', 'allow', 'prefer'];
const modes = [...weakModes, 'require', 'verify-ca', 'verify-full'];
/** Parameters that only work on a connection that is never without TLS. */
const details = ['sslrootcert', 'sslcert', 'sslkey', 'sslnegotiation'];
/** Parameters that request security. */
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
  if (unknown !== undefined) return `${unknown} is not supported: remove it. See docs/operators/tls.md`;
  if (!modes.includes(sslmode)) return `sslmode must be one of ${modes.join(', ')}`;
  const detail = names.find((name) => details.includes(name));
  if (detail !== undefined && weakModes.includes(sslmode))
    return (
      `${detail} (or PG${detail.toUpperCase()}) needs sslmode=verify-full beside it ` +
      '(or verify-ca, or require)'
    );
  if (sslrootcert === 'system' && sslmode !== 'verify-full')
    return 'sslrootcert=system needs sslmode=verify-full beside it';
  // The driver can compare every certificate with one IP address only.
  if (sslmode === 'verify-full' && listIpAddresses(address).length > 1)
    return 'sslmode=verify-full does not work with several IP addresses: write the names of the hosts';
  return null;
};

/** In a list, so that a file without a certificate trusts none, instead of all that Node knows. */
const readCertificates = (file: string | undefined): string[] | undefined =>
  file === undefined ? undefined : [readFileSync(file, 'utf8')];

/** What the driver takes as `ssl`. */
export type DriverTls = ConnectionOptions | 'prefer' | false;

/** Throws unless the files fit together. The driver (3.4.9) would meet that where nothing can catch it. */
const checkFiles = (tls: ConnectionOptions): void => {
  try {
    createSecureContext(tls);
  } catch (error) {
    // Without a cause: of several causes `openFault` shows the deepest, which names no parameter.
    const { message } = toError(error);
    throw new Error(`sslcert and sslkey, or sslrootcert, name files that cannot be used: ${message}`);
  }
};

interface AddressParts {
  readonly url: string;
  readonly tls?: DriverTls;
}

const known = new Map<string, AddressParts>();

/**
 * Takes the parameters out of an address, for the driver. `tls` is undefined when it has none. Throws if a
 * file cannot be read or used. Reads the files of an address once, so that all connections to it trust the
 * same ones while they are replaced.
 */
export const readTls = (address: string): AddressParts => {
  const parts = known.get(address) ?? splitTls(address);
  known.set(address, parts);
  return parts;
};

const splitTls = (address: string): AddressParts => {
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
  checkFiles(tls);
  return { url, tls };
};
