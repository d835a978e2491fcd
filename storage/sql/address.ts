/**
 * The parts of an address of Postgres. `URL` does not take several hosts, which the driver and the programs
 * of Postgres do. Pure.
 */

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

/**
 * Reads the hosts and ports of an address that has IPv6 addresses in brackets, which the driver (3.4.9) takes
 * for names. Of other addresses it reads none.
 */
export const readBracketedHosts = (address: string): { host?: string[]; port?: number[] } => {
  const [, hosts = ''] = /^\w+:\/\/(?:[^/?#]*@)?([^@/?#]*)/.exec(address) ?? [];
  if (!hosts.includes('[')) return {};
  const parsed = hosts.split(',').map((one) => /^\[?(.*?)\]?(?::(\d+))?$/.exec(one) ?? []);
  return {
    host: parsed.map(([, host = '']) => host),
    port: parsed.map(([, , port = '5432']) => Number(port)),
  };
};
