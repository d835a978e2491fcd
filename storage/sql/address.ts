/**
 * The parts of an address of Postgres. `URL` does not take several hosts, which the driver and the programs
 * of Postgres do. Pure.
 */
import { isIP } from 'node:net';

const shape = /^(\w+:\/\/)(?:([^:/?#]*)(?::([^/?#]*))?@)?([^@/?#]*(?:[/?#].*)?)$/s;

/** Takes the password, decoded, out of an address. */
export const splitPassword = (address: string): { readonly address: string; readonly password: string } => {
  const [, scheme = '', user = '', password = '', rest = address] = shape.exec(address) ?? [];
  return {
    address: `${scheme}${user === '' ? '' : `${user}@`}${rest}`,
    password: decodeURIComponent(password),
  };
};

/** Adds a parameter, unless the address has it or there is no value. */
export const addParameter = (address: string, name: string, value = ''): string => {
  if (value === '' || new RegExp(`[?&]${name}=`).test(address)) return address;
  return `${address}${address.includes('?') ? '&' : '?'}${name}=${encodeURIComponent(value)}`;
};

/** Adds a password, in any characters, unless the address has one. */
export const addPassword = (address: string, password: string): string =>
  password === ''
    ? address
    : address.replace(shape, (whole, scheme: string, user = '', own = '', rest: string = '') =>
        own === '' ? `${scheme}${user}:${encodeURIComponent(password)}@${rest}` : whole,
      );

/** Takes out the list of hosts and ports. */
const findHosts = (address: string): string => /^\w+:\/\/(?:[^/?#]*@)?([^@/?#]*)/.exec(address)?.[1] ?? '';

/** Splits a list of hosts; those in brackets come without. */
const parseHosts = (hosts: string): { host: string[]; port: number[] } => {
  const parsed = hosts.split(',').map((one) => /^\[?(.*?)\]?(?::(\d+))?$/.exec(one) ?? []);
  return {
    host: parsed.map(([, host = '']) => host),
    port: parsed.map(([, , port = '5432']) => Number(port)),
  };
};

const splitQuery = (address: string) => {
  const [place = '', ...query] = address.split('?');
  return { place, query: new URLSearchParams(query.join('?')) };
};

/** Reads hosts and ports, of the parameters or before the path, as libpq does; `null`: the driver's own. */
const readHosts = (address: string): { host: string[]; port: number[] } | null => {
  const { place, query } = splitQuery(address);
  const named = query.get('host') ?? '';
  const hosts = named === '' ? findHosts(place) : named;
  const ports = (query.get('port') ?? '').split(',');
  if (hosts === '') return null;
  const { host, port } = parseHosts(hosts);
  const toPort = (own: number, at: number): number => Number(ports[at] || ports[0]) || own;
  return { host: host.map(decodeURIComponent), port: port.map(toPort) };
};

/** Parameters of libpq that place or name a connection. The driver (3.4.9) would send them to the server. */
const placing = ['host', 'port', 'user', 'dbname', 'target_session_attrs'];
const unsupported =
  /^(service|servicefile|passfile|hostaddr|load_balance_hosts|requirepeer|krbsrvname|replication)$/;

/** Explains what of an address is not supported, and what to write instead; `null` if all is. */
export const findAddressMistake = (address: string): string | null => {
  const { query } = splitQuery(address);
  const other = [...query.keys()].find((name) => unsupported.test(name));
  if (other !== undefined)
    return `${other} is not supported in an address: write the user, host, port and database into it`;
  if (query.has('password'))
    return 'password is not supported as a parameter: write it before the @, or into PGPASSWORD';
  const role = query.get('target_session_attrs') ?? 'any';
  if (!['any', 'read-write', 'primary'].includes(role))
    return `target_session_attrs=${role} may lead to a server without writes: write read-write or primary`;
  const { host = [] } = readHosts(address) ?? {};
  return host.length > 1 && host.some((one) => one.startsWith('/'))
    ? 'a folder of sockets and another host are not supported together: write one of them'
    : null;
};

/** Reads what the driver does not take from an address, and the address without that. */
export const readPlace = (address: string) => {
  const { place, query } = splitQuery(address);
  const hosts = readHosts(address);
  const [user, database, role] = ['user', 'dbname', 'target_session_attrs'].map((name) => query.get(name));
  for (const name of placing) query.delete(name);
  const [folder = '', port = 5432] = [hosts?.host[0], hosts?.port[0]];
  const isFolder = folder.startsWith('/');
  // The driver decodes neither a host nor a list of them; here it only has to read the rest.
  const isLeft = hosts === null && !place.includes('@');
  const rest = isLeft ? place : place.replace(/^(\w+:\/\/(?:[^/?#]*@)?)[^@/?#]*/, '$1localhost');
  return {
    url: `${rest}${query.size > 0 ? `?${query}` : ''}`,
    isFolder,
    options: {
      ...hosts,
      ...(isFolder && { path: `${folder}/.s.PGSQL.${port}` }),
      ...(user && { user }),
      ...(database && { database }),
      ...(role && role !== 'any' && { target_session_attrs: role }),
    },
  };
};

/** Formats the hosts and ports for a message. */
export const formatPlace = (address: string): string => {
  const { host, port } = readHosts(address) ?? { host: ['localhost'], port: [5432] };
  return host.map((one, at) => `${one.includes(':') ? `[${one}]` : one}:${port[at]}`).join();
};

/** Lists the different IP addresses among the hosts. */
export const listIpAddresses = (address: string): readonly string[] => {
  const { host } = readHosts(address) ?? { host: [] };
  return [...new Set(host.filter((one) => isIP(one) !== 0))];
};
