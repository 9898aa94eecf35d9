// Requires from the folder that this file is in.

exports.load = async (specifier) => require(specifier);
