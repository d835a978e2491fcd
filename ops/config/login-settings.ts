/**
 * Checks that the login settings are complete: all settings of one provider, or none. Pure.
 */
import { type SettingName, type Settings, toVariable } from './settings.ts';

const addresses = ['loginAuthorizeUrl', 'loginTokenUrl', 'loginProfileUrl'] as const;
const always = ['loginClientId', 'loginClientSecret', 'loginRedirectUris'] as const;
const all = [...always, ...addresses, 'loginIssuer'] as const;

/** Returns what an incomplete login lacks. A setting that is already wrong is absent here, not missing. */
export const listLoginMistakes = (settings: Partial<Settings>): string[] => {
  const isSet = (name: SettingName): boolean => settings[name]?.toString() !== '';
  if (!all.some(isSet)) return [];
  const missing = always.filter((name) => !isSet(name)).map(toVariable);
  const mistakes = missing.map(
    (variable) => `${variable}: other login settings are set, so set this one too`,
  );
  const named = addresses.filter(isSet);
  if (isSet('loginIssuer') ? named.length > 0 : named.length < addresses.length) {
    const variables = [...addresses].map(toVariable).join(', ');
    mistakes.push(`LOGIN_ISSUER: set either this one, or all of ${variables}`);
  }
  return mistakes;
};
