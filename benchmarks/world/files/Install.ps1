<#
.SYNOPSIS
Installs the agent.
.PARAMETER Version
Which one.
#>
param(
    [Parameter(Mandatory = $true)]
    [string] $Version,
    [switch] $Force
)
Set-StrictMode -Version Latest

function Get-Archive {
    param([string] $Name)
    $address = "https://example.org/$Name.zip"
    Invoke-WebRequest `
        -Uri $address `
        -OutFile "$env:TEMP\$Name.zip" `
        -UseBasicParsing
}

$settings = @"
version = $Version
# no comment
path = $env:ProgramFiles\Agent
"@

if ($Force -or -not (Test-Path "$env:ProgramFiles\Agent")) {
    Get-Archive -Name "agent-$Version"
    Set-Content -Path "agent.ini" -Value $settings
} else {
    Write-Warning "The agent is there."
}
Get-ChildItem "$env:ProgramFiles\Agent" |
    Where-Object { $_.Extension -eq ".old" } |
    ForEach-Object {
        Remove-Item $_.FullName
    }
