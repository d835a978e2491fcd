/**
 * Defaults that suit a directory only while no other machine reaches it.
 *
 * Once HOST or PUBLIC_URL says that others do, a note names those that are not set.
 */
import { type Note, toNote } from '../../engine/tools/notes.ts';
import { isLocalOnly } from './addresses.ts';
import { type Config, isDemoWanted } from './config.ts';

const isBehindTls = ({ publicUrl }: Pick<Config, 'publicUrl'>): boolean => publicUrl.startsWith('https:');

/** How push services can contact the operator. They require a contact, so there is a default. */
export const toPushContact = ({
  pushContact,
  publicUrl,
}: Pick<Config, 'pushContact' | 'publicUrl'>): string =>
  pushContact || (isBehindTls({ publicUrl }) ? publicUrl : 'mailto:operator@rollcall.invalid');

export const listHomeDefaults = (config: Config): readonly Note[] => {
  if (isLocalOnly(config)) return [];
  const { publicUrl, pushContact, trustedProxies, demo } = config;
  const unset = [
    publicUrl === '' && 'PUBLIC_URL (links lead to the address of HOST)',
    pushContact === '' && `PUSH_CONTACT (push services get ${toPushContact(config)}, which some refuse)`,
    isBehindTls(config) &&
      trustedProxies.length === 0 &&
      'TRUSTED_PROXIES (all clients behind the proxy count as one address)',
    demo === 'auto' && isDemoWanted(config) && 'DEMO (an empty directory begins with listings to try)',
  ].filter((text) => text !== false);
  if (unset.length === 0) return [];
  return [toNote('home_defaults', `others reach this directory, and these are not set: ${unset.join('; ')}`)];
};
