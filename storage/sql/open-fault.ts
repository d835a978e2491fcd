/**
 * Explains why a configured server cannot be used at start, and what the operator can do.
 *
 * Clients and servers give the reason in a code or in the first word of a message, often several causes deep.
 * Pure; shows no password.
 */
import { toError } from '../../engine/errors.ts';
import { formatPlace } from './address.ts';
import { refusedCertificate } from './errors.ts';

export type ServerSetting = 'REDIS_URL' | 'DATABASE_URL';

const servers: Readonly<Record<ServerSetting, string>> = { REDIS_URL: 'Redis', DATABASE_URL: 'Postgres' };

const causesMax = 8;

/** Finds the failure at the bottom of its wrappings. */
const findRootCause = (error: unknown): unknown => {
  let root = error;
  for (let depth = 0; depth < causesMax && root instanceof Error && root.cause !== undefined; depth++) {
    root = root.cause;
  }
  return root;
};

/** Formats an address as `host:port`; one that cannot be parsed as it is, without a possible password. */
const formatHostPort = (address: string): string => {
  if (!URL.canParse(address)) return address.replace(/^.*@/s, '');
  const { host } = new URL(address);
  return host === '' || host.includes('%') ? formatPlace(address) : host;
};

const tlsSection = 'docs/operators/tls.md';

/** Advice by the failure's code, or by the first word of a server's refusal; the first that fits counts. */
const advices: readonly (readonly [RegExp, string])[] = [
  [/^ECONNREFUSED$/, 'nothing listens there. Start SERVER, or correct the address'],
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'this name is not known. Correct the address'],
  [
    /^(EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|CONNECT_TIMEOUT|CONNECTION_CLOSED|Connection)$/,
    'nothing there answers as SERVER does. Start it, or correct the address',
  ],
  [
    /^Failed$/,
    'none of these is a node of a Cluster. Of several addresses each must be; else name one server',
  ],
  [/^28000$/, `the user or the password is refused, or it wants TLS. Correct the address; see ${tlsSection}`],
  [/^(28P01|WRONGPASS|NOAUTH|NOPERM)$/, 'the user or the password is refused. Correct them in the address'],
  [/^53300$/, 'it has no connection left. Close some, or raise its limit'],
  [/^CERT_HAS_EXPIRED$/, 'its certificate has ended. Renew it there'],
  [
    /^(ECONNRESET|ERR_SSL_WRONG_VERSION_NUMBER)$/,
    `it seems that only one of the two sides uses TLS. See ${tlsSection}`,
  ],
  [/^3D000$/, 'this database does not exist. Create it, or correct its name'],
  [
    /^08P01$/,
    'a pooler there refuses what Rollcall requests. See docs/operators/postgres.md, or name ' +
      'the direct address of Postgres',
  ],
  [refusedCertificate, `its certificate is refused. See ${tlsSection}`],
  [/^/, 'it cannot be used'],
];

const adviseOn = (code: string, server: string): string | undefined =>
  advices.find(([codes]) => codes.test(code))?.[1].replace('SERVER', server);

const getErrorCode = (error: Error & { readonly code?: unknown }): string =>
  typeof error.code === 'string' ? error.code : (/^[A-Za-z]+/.exec(error.message)?.[0] ?? '');

/** Creates the error that ends the start. `addresses` are those of the setting. */
export const openFault = (setting: ServerSetting, addresses: readonly string[], error: unknown): Error => {
  const root = findRootCause(error);
  const known = toError(root);
  const server = servers[setting];
  const hosts = addresses.map(formatHostPort).join(', ');
  const why = `${adviseOn(getErrorCode(known), server)} (${known.message})`;
  return new Error(`${setting}: ${server} at ${hosts}: ${why}.`, { cause: error });
};
