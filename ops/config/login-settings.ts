/**
 * Checks that the login settings are complete: all settings of one provider, or none. Pure.
 */
import { type SettingName, type Settings, toVariable } from './settings.ts';

const addresses = ['loginAuthorizeUrl', 'loginTokenUrl', 'loginProfileUrl'] as const;
const always = ['loginClientId', 'loginClientSecret', 'loginRedirectUris'] as const;
const isSet = (settings: Partial<Settings>) => (name: SettingName) =>
  (settings[name] ?? '').toString() !== '';
const isValid = (settings: Partial<Settings>) => (name: SettingName) => settings[name] !== undefined;

/** Returns the mistakes of an incomplete login; none while one of its settings is already wrong. */
export const listLoginMistakes = (settings: Partial<Settings>): string[] => {
  const set = isSet(settings);
  if (![...always, ...addresses, 'loginIssuer' as const].every(isValid(settings))) return [];
  if (![...always, ...addresses, 'loginIssuer' as const].some(set)) return [];
  const missing = always.filter((name) => !set(name)).map(toVariable);
  const mistakes = missing.map(
    (variable) => `${variable}: other login settings are set, so set this one too`,
  );
  const named = addresses.filter(set);
  if (set('loginIssuer') ? named.length > 0 : named.length < addresses.length) {
    const variables = [...addresses].map(toVariable).join(', ');
    mistakes.push(`LOGIN_ISSUER: set either this one, or all of ${variables}`);
  }
  return mistakes;
};
