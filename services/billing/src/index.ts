export { changeBackupAgreement } from './actions/change-backup-agreement.ts';
export { changeDunning } from './actions/change-dunning.ts';
export { changeNotices, type NoticeChange, type Notices, noticesAfter } from './actions/change-notices.ts';
export { changeRenewalSpread } from './actions/change-renewal-spread.ts';
export { eraseKeptMails } from './actions/erase-kept-mails.ts';
export { eraseReceipts } from './actions/erase-receipts.ts';
export { eraseSoldMetadata } from './actions/erase-sold-metadata.ts';
export { areRetryDays, type DunningSettings } from './domain/dunning.ts';
export { billingService } from './service.ts';
