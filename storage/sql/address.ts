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

/**
 * Reads the hosts and ports of an address that has IPv6 addresses in brackets, which the driver (3.4.9) takes
 * for names. Of other addresses it reads none.
 */
export const readBracketedHosts = (address: string): { host?: string[]; port?: number[] } => {
  const hosts = findHosts(address);
  return hosts.includes('[') ? parseHosts(hosts) : {};
};

/** Lists the different IP addresses among the hosts. */
export const listIpAddresses = (address: string): readonly string[] => {
  const { host } = parseHosts(findHosts(address));
  return [...new Set(host.filter((one) => isIP(one) !== 0))];
};
