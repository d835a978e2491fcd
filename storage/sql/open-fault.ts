/**
 * Why a server of the settings cannot be used at start, in words that say what to do. Clients and servers
 * name the reason in a code or in the first word of a message, often some causes deep. Pure; no password is
 * shown.
 * Called by open.ts and sql/server.ts.
 */

export type ServerSetting = 'REDIS_URL' | 'DATABASE_URL';

const servers: Readonly<Record<ServerSetting, string>> = { REDIS_URL: 'Redis', DATABASE_URL: 'Postgres' };

const causesMax = 8;

/** The failure at the bottom of its wrappings. */
const findRootCause = (error: unknown): unknown => {
  let root = error;
  for (let depth = 0; depth < causesMax && root instanceof Error && root.cause !== undefined; depth++) {
    root = root.cause;
  }
  return root;
};

/** `host:port` of an address; the whole of what cannot be read, without what may be a password. */
const formatHostPort = (address: string): string => {
  if (!URL.canParse(address)) return address.replace(/^[^@]*@/, '');
  return new URL(address).host;
};

/** What is known of a failure by its code, or by the word a server begins its refusal with. */
const adviseOn = (code: string, server: string): string => {
  switch (code) {
    case 'ECONNREFUSED':
      return `nothing listens there. Start ${server}, or correct the address`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'this name is not known. Correct the address';
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'ETIMEDOUT':
    case 'CONNECT_TIMEOUT':
    case 'CONNECTION_CLOSED':
    case 'Connection':
      return `nothing there answers as ${server} does. Start it, or correct the address`;
    case '28000':
    case '28P01':
    case 'WRONGPASS':
    case 'NOAUTH':
    case 'NOPERM':
      return 'the user or the password is refused. Correct them in the address';
    case '3D000':
      return 'this database does not exist. Create it, or correct its name';
    default:
      return 'it cannot be used';
  }
};

const getErrorCode = (error: Error & { readonly code?: unknown }): string =>
  typeof error.code === 'string' ? error.code : (/^[A-Za-z]+/.exec(error.message)?.[0] ?? '');

/** The error to end the start with. `addresses` are those of the setting. */
export const openFault = (setting: ServerSetting, addresses: readonly string[], error: unknown): Error => {
  const root = findRootCause(error);
  const known = root instanceof Error ? root : new Error(String(root));
  const server = servers[setting];
  const places = addresses.map(formatHostPort).join(', ');
  const why = `${adviseOn(getErrorCode(known), server)} (${known.message})`;
  return new Error(`${setting}: ${server} at ${places}: ${why}.`, { cause: error });
};
