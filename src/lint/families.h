#pragma once
/// The rows of the rule table, a file for each family or part of one: the checks stand beside their rows.
#include "check.h"

namespace calkit::lint {

std::vector<Rule> file_rules();           ///< 01 files and hashes
std::vector<Rule> description_rules();    ///< 02 description, numbers, versions
std::vector<Rule> runtime_rules();        ///< 02 runtime, driver, firmware, device
std::vector<Rule> submodel_rules();       ///< 03 submodel type and name
std::vector<Rule> name_rules();           ///< 03 names that mislead
std::vector<Rule> contract_rules();       ///< 04 contract with the service manifest
std::vector<Rule> binding_rules();        ///< 04 what the service binds
std::vector<Rule> layout_rules();         ///< 04 logits, padding, the order of the KV cache
std::vector<Rule> baseline_rules();       ///< 04 contract with the frozen baseline
std::vector<Rule> memory_rules();         ///< 05 where ranges lie
std::vector<Rule> region_rules();         ///< 05 reservations among themselves
std::vector<Rule> size_rules();           ///< 05 bytes of shapes
std::vector<Rule> capacity_rules();       ///< 05 what fits
std::vector<Rule> oplist_rules();         ///< 05 what the ops touch, and where the host is told to look
std::vector<Rule> param_rules();          ///< 06 parameters
std::vector<Rule> param_content_rules();  ///< 06 what lies in the parameter files
std::vector<Rule> alias_rules();          ///< 07 aliasing
std::vector<Rule> lifetime_rules();       ///< 07 buffers over the op order
std::vector<Rule> unit_rules();           ///< 08 units
std::vector<Rule> chip_rules();           ///< 09 chips and partition
std::vector<Rule> partition_rules();      ///< 09 how the model is divided
std::vector<Rule> command_rules();        ///< 10 commands
std::vector<Rule> elf_rules();            ///< 10 ELF images
std::vector<Rule> provenance_rules();     ///< 11 provenance and hygiene
std::vector<Rule> leak_rules();           ///< 11 what tells of the build machine
std::vector<Rule> golden_rules();         ///< 12 golden
std::vector<Rule> golden_use_rules();     ///< 12 what golden results are of
std::vector<Rule> quant_rules();          ///< 13 quantisation
std::vector<Rule> scale_rules();          ///< 13 values of scales

// The facts that rows of several families need.
inline constexpr std::string_view kFilePlace = "/files/*/path";
inline constexpr std::string_view kRegionPlace = "/memory/regions/*/id,chip,space,kind,base,size";
inline constexpr std::string_view kParamPlace = "/params/*/region,chip,base,length";
inline constexpr std::string_view kTensorPlace = "/submodels/*/inputs,outputs/*/name,region,chip,base,size,pingpong";
inline constexpr std::string_view kNames = "/submodels/*/name";
inline constexpr std::string_view kOpLists = "/submodels/*/oplist,batch,tokens";
inline constexpr std::string_view kCsrPlace = "/submodels/*/csr/*/base,width_bits,count";

/// Of a rule that runs on less without a service manifest.
inline constexpr const char* kNoService = "no --service given: only the package's own numbers were compared";

/// Why a device may take what the rule refuses; empty: it refuses it too.
std::string_view beyond_device(std::string_view id);
/// The rule that tells why the description could not be read at all; empty when it could.
std::string_view rule_of_unreadable(const Facts& facts);
/// True for ops that move data between chips.
bool crosses_chips(const calbin::Op& op);
/// The chips on which the package puts something, as a mask.
std::uint64_t chips_in_use(const calbin::Description& d);
/// No two ops of a list have one id.
void check_op_ids(Check& check, const OpListFacts& list);
/// The ops of a list, all inside their reservations, stay below the workspace peak of their submodel.
void check_workspace_use(Check& check, const OpListFacts& list);
/// What the ops of a list read has been written before, and what they are to give is written by one of them.
void check_flow(Check& check, const OpListFacts& list);
/// The extents of an operand in the largest call of its submodel.
Shape largest_shape(const calbin::Submodel& submodel, const calbin::Operand& operand);
/// DRAM bytes that the regions of these kinds cover on one chip; bytes of nested or shared regions count once.
std::uint64_t covered_bytes(Check& check, std::int64_t chip, const std::vector<std::string_view>& kinds);

}  // namespace calkit::lint
